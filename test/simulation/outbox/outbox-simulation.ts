import type { Simulation } from '../simulation.ts'
import { outboxMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runOutboxSeed } from './run-seed.ts'

/** Outboxes of every mode under faults: on a database that fails, in processes that stop, freeze and die. */
export const simulation: Simulation = {
  name: 'outbox',
  module: import.meta.url,
  goals: rareStates,
  mutants: outboxMutants,
  seedFile,
  run: runOutboxSeed,
}
