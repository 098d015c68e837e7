import type { Simulation } from '../simulation.ts'
import { connectorMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runConnectorSeed } from './run-seed.ts'

/** Connectors under faults: bindings with all their options, in processes that stop, freeze and die. */
export const simulation: Simulation = {
  name: 'connector',
  module: import.meta.url,
  goals: rareStates,
  mutants: connectorMutants,
  seedFile,
  run: runConnectorSeed,
}
