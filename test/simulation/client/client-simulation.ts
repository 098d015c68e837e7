import type { Simulation } from '../simulation.ts'
import { clientMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runClientSeed } from './run-seed.ts'

/** The Kafka client alone: group members, producers and transactions under faults. */
export const simulation: Simulation = {
  name: 'client',
  module: import.meta.url,
  goals: rareStates,
  mutants: clientMutants,
  seedFile,
  run: runClientSeed,
}
