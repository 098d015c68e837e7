import type { Simulation } from '../simulation.ts'
import { seedFile, transactionMutants } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runTransactionSeed } from './run-seed.ts'

/** Transactional bindings in processes that stop, freeze and die, on a cluster that fails: outputs are exactly f(input). */
export const simulation: Simulation = {
  name: 'transaction',
  module: import.meta.url,
  goals: rareStates,
  mutants: transactionMutants,
  seedFile,
  run: runTransactionSeed,
}
