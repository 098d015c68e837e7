/** Bugs of operations, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const runs = 'packages/admin/src/operations/run-operation.ts'

const bugs: readonly PlantedBug[] = [
  {
    name: 'sent-before-it-is-intended',
    breaks: 'A crash leaves copies behind that no store knows of.',
    file: runs,
    find: '      this.#follow(await this.#stored(() => store.intend(this.#lease, batch.intended)))\n',
    replace: '',
  },
  {
    name: 'unsettled-batch-forgotten',
    breaks: 'A takeover repeats a batch and does not count it.',
    file: runs,
    find: 'const repeated = kind.isIdempotent ? [] : intended',
    replace: 'const repeated = kind.isIdempotent ? intended : []',
  },
  {
    name: 'unknown-outcomes-not-counted',
    breaks: 'A copy whose outcome is unknown is sent again and not counted.',
    file: runs,
    find: 'mayBeRepeated: progress.mayBeRepeated + sizeOf(applied.unknown),',
    replace: 'mayBeRepeated: progress.mayBeRepeated,',
  },
  {
    name: 'unknown-taken-for-sent',
    breaks: 'A copy whose outcome is unknown is never sent again.',
    file: runs,
    find: 'const again = [...applied.unsent, ...applied.unknown]',
    replace: 'const again = [...applied.unsent]',
  },
  {
    name: 'rest-forgotten',
    breaks: 'The next runner ends with the batch of the one before.',
    file: runs,
    find: 'remaining: [...again, ...batch.remaining],',
    replace: 'remaining: [...again],',
  },
  {
    name: 'not-fenced',
    breaks: 'A runner that lost its lease still writes.',
    file: 'packages/core/src/operate/memory-operation-store.ts',
    find: 'held === undefined || held.leaseVersion !== version || held.operation.runner === undefined',
    replace: 'held === undefined || held.operation.runner === undefined',
  },
  {
    name: 'lease-ignored',
    breaks: 'Two processes run one operation.',
    file: 'packages/core/src/operate/memory-operation-store.ts',
    find: 'leaseUntilMs === undefined || leaseUntilMs <= now',
    replace: 'leaseUntilMs === undefined || leaseUntilMs > 0',
  },
  {
    name: 'filter-ignored',
    breaks: 'An operation sends what its filter does not hold.',
    file: 'packages/connector/src/replay/selected-replay.ts',
    find: 'if (answer === false) return passedOver',
    replace: "if (answer === false) return { kind: 'SELECTED', letter, plan }",
  },
  {
    name: 'passed-before-it-is-decided',
    breaks: 'A dead letter whose decision failed is passed over.',
    file: 'packages/connector/src/replay/unread-ranges.ts',
    find: 'if (range.until <= before) return []',
    replace: 'if (range.until <= before + 1n) return []',
  },
]

/** The seeds that find the mutants. `npm run sim -- operation --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of operations. */
export const operationMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
