/** Bugs of outboxes, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { withRecordedSeeds } from '../world/recorded-seeds.ts'
import { byteMutants } from './mutants/byte-mutants.ts'
import { claimMutants } from './mutants/claim-mutants.ts'
import { deliveryMutants } from './mutants/delivery-mutants.ts'
import { keyedMutants } from './mutants/keyed-mutants.ts'
import { repeatMutants } from './mutants/repeat-mutants.ts'
import { roadMutants } from './mutants/road-mutants.ts'

/** The seeds that find the mutants. `npm run sim -- outbox --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of the outbox. */
export const outboxMutants: readonly Mutant[] = withRecordedSeeds(
  [...deliveryMutants, ...claimMutants, ...keyedMutants, ...repeatMutants, ...roadMutants, ...byteMutants],
  seedFile,
)
