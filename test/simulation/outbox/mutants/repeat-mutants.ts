/** Bugs of the order in which outcomes are written: a crash then repeats an event without those behind it (I22). */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { keyedDispatcher, keyedEngine, lockedOutcomes, outcomeQueue, relay } from './files.ts'

/** See the file's comment. */
export const repeatMutants: readonly PlantedBug[] = [
  {
    name: 'finishes-of-a-key-side-by-side',
    breaks: 'A later finish of a key is sent while an earlier one is unanswered.',
    file: outcomeQueue,
    find: 'for (const statement of statements) if (statement.keys.has(key)) return statement',
    replace: 'for (const statement of statements) if (statement.keys.size < 0) return statement',
  },
  {
    name: 'kinds-of-a-key-reordered',
    breaks: 'A finish is sent before an earlier outcome of its key that has another kind.',
    file: outcomeQueue,
    find: 'if (key !== null) passed.add(key)',
    replace: 'if (key !== null && outcome.kind === batch?.kind) passed.add(key)',
  },
  {
    name: 'order-lost-with-the-lease',
    breaks: 'A finish after the loss of its lease is sent while an earlier one of its key is unanswered.',
    file: keyedEngine,
    find: 'keyOf: (row) => row.keyText',
    replace: 'keyOf: (row) => (row.queue.signal.aborted ? null : row.keyText)',
  },
  {
    name: 'locked-rows-passed',
    breaks: 'Later outcomes of a key are written while an earlier row of it is locked.',
    file: outcomeQueue,
    find: 'const waits = key === null ? isLocked(row) : lockedKeys.has(key)',
    replace: 'const waits = isLocked(row)',
  },
  {
    name: 'locked-rows-forgotten',
    breaks: 'Outcomes of locked rows are never written.',
    file: lockedOutcomes,
    find: 'if (!this.#isWatching) void this.#watch()',
    replace: 'if (this.#isWatching) void this.#watch()',
  },
  {
    name: 'fenced-shard-goes-on',
    breaks: 'What is behind a fenced finish is written because the lease holds again.',
    file: keyedDispatcher,
    find: 'queue.isRefused = true',
    replace: 'queue.isRefused = false',
    also: [{ file: keyedDispatcher, find: 'this.#deps.leases.refused(queue.lease)', replace: '' }],
  },
  {
    name: 'unreadable-row-dies-early',
    breaks: 'In `ordered` an unreadable row is DEAD before those in front of it are finished.',
    file: relay,
    find: 'if (holder === undefined) return this.#waitsToDie(event)',
    replace: 'if (holder === undefined) return false',
  },
]
