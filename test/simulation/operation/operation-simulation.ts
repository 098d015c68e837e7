import type { Simulation } from '../simulation.ts'
import { operationMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runOperationSeed } from './run-seed.ts'

/** Operations on dead letters that several processes run, while these freeze and die and their store loses answers. */
export const simulation: Simulation = {
  name: 'operation',
  module: import.meta.url,
  goals: rareStates,
  mutants: operationMutants,
  seedFile,
  run: runOperationSeed,
}
