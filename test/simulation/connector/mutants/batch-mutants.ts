/** Bugs of batch listeners. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { batchRun, connector, member } from './files.ts'

const batchOutcome = `${connector}/delivery/batch-outcome.ts`
const batchDelivery = `${connector}/delivery/batch-delivery.ts`

/** See the file's comment. */
export const batchMutants: readonly PlantedBug[] = [
  {
    name: 'batch-begun-before-the-commit',
    breaks: 'A batch begins before the one before it is committed: a kill repeats more than one.',
    file: batchRun,
    find: '    if (this.#records.isCommitted()) {\n',
    replace: '    if (this.#pace.isSettled) {\n',
  },
  {
    name: 'batch-redelivers-once-too-often',
    breaks: 'A record that never succeeds is delivered more often than batchMaxRedeliveries.',
    file: batchOutcome,
    find: 'failedDeliveries < settings.batchMaxRedeliveries',
    replace: 'failedDeliveries <= settings.batchMaxRedeliveries',
  },
  {
    name: 'batch-seeks-for-ever',
    breaks: 'A record that never succeeds blocks its partition permanently.',
    file: batchOutcome,
    find: 'failedDeliveries < settings.batchMaxRedeliveries',
    replace: 'failedDeliveries < Number.MAX_SAFE_INTEGER',
  },
  {
    name: 'batch-drops-those-behind-a-failure',
    breaks: 'Records behind the one that failed are forgotten.',
    file: batchRun,
    find: '        this.#records.putBack(work)\n      }\n      if (staying >= 0)',
    replace: '      }\n      if (staying >= 0)',
  },
  {
    name: 'batch-call-settles-the-failed-record',
    breaks: 'The record that a batch handler names as failed counts as handled.',
    file: batchDelivery,
    find: '      this.#succeeded = index\n',
    replace: '      this.#succeeded = index + 1\n',
  },
  {
    name: 'batch-tier-never-committed',
    breaks: 'Records settled by the tiers of a batch listener are not committed with ackMode MANUAL.',
    file: member,
    find: "(binding.listenerType === 'SINGLE' || place.kind === 'TIER')",
    replace: "binding.listenerType === 'SINGLE'",
  },
]
