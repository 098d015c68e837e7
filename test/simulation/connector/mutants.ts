/** Bugs of connectors, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { withRecordedSeeds } from '../world/recorded-seeds.ts'
import { assignmentMutants } from './mutants/assignment-mutants.ts'
import { batchMutants } from './mutants/batch-mutants.ts'
import { cutMutants } from './mutants/cut-mutants.ts'
import { deduplicationMutants } from './mutants/deduplication-mutants.ts'
import { deliveryMutants } from './mutants/delivery-mutants.ts'
import { ledgerMutants } from './mutants/ledger-mutants.ts'
import { moveMutants } from './mutants/move-mutants.ts'
import { recordMutants } from './mutants/record-mutants.ts'
import { stopMutants } from './mutants/stop-mutants.ts'
import { useMutants } from './mutants/use-mutants.ts'
import { waitingMutants } from './mutants/waiting-mutants.ts'

/** The seeds that find the mutants. `npm run sim -- connector --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of the connector. */
export const connectorMutants: readonly Mutant[] = withRecordedSeeds(
  [
    ...ledgerMutants,
    ...deliveryMutants,
    ...batchMutants,
    ...recordMutants,
    ...assignmentMutants,
    ...cutMutants,
    ...waitingMutants,
    ...moveMutants,
    ...useMutants,
    ...stopMutants,
    ...deduplicationMutants,
  ],
  seedFile,
)
