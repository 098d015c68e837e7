import type { Simulation } from '../simulation.ts'
import { projectionMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runProjectionSeed } from './run-seed.ts'

/** Consumers that race for the same events, repeat them and die, on a database that fails at any step. */
export const simulation: Simulation = {
  name: 'projection',
  module: import.meta.url,
  goals: rareStates,
  mutants: projectionMutants,
  seedFile,
  run: runProjectionSeed,
}
