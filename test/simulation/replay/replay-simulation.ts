import type { Simulation } from '../simulation.ts'
import { replayMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runReplaySeed } from './run-seed.ts'

/** Dead letters that several processes replay concurrently, on a cluster that fails, while they freeze and die. */
export const simulation: Simulation = {
  name: 'replay',
  module: import.meta.url,
  goals: rareStates,
  mutants: replayMutants,
  seedFile,
  run: runReplaySeed,
}
