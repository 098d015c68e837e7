/** Bugs of the order in which outcomes are written: a crash then repeats an event without those behind it (I22). */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { keyedDispatcher, outcomeQueue, relay, settler, soleClaims } from './files.ts'

/** See the file's comment. */
export const repeatMutants: readonly PlantedBug[] = [
  {
    name: 'finishes-of-a-key-side-by-side',
    breaks: 'A later finish of a key is sent while an earlier one is unanswered.',
    file: outcomeQueue,
    find: 'if (key !== null && key.statement !== 0 && !(fits && mayFollow(key, statement))) {',
    replace: 'if (key !== null && key.statement === statement && !(fits && mayFollow(key, statement))) {',
    also: [{ file: outcomeQueue, find: 'key.statement !== 0 && key.ready === 0', replace: 'key.statement < 0' }],
  },
  {
    name: 'kinds-of-a-key-reordered',
    breaks: 'A finish is sent before an earlier outcome of its key that has another kind.',
    file: outcomeQueue,
    find: 'if (key !== null) key.leftBy = statement',
    replace: 'if (key !== null && outcome.kind === batch?.kind) key.leftBy = statement',
  },
  {
    name: 'fences-of-a-key-reordered',
    breaks: 'A finish is sent before an earlier one of its key that has another fence.',
    file: outcomeQueue,
    find: 'if (key !== null) key.leftBy = statement',
    replace: 'if (key !== null && fence === batch?.fence) key.leftBy = statement',
  },
  {
    name: 'kinds-of-a-statement-reordered',
    breaks: 'A finish joins the statement of its key past an outcome of another kind.',
    file: outcomeQueue,
    find: 'return key.statement === statement && key.held === undefined',
    replace: 'return key.statement === statement',
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
    name: 'fenced-table-goes-on',
    breaks: 'What is behind a fenced finish is written because the table was taken again.',
    file: soleClaims,
    find: 'table.isRefused = true',
    replace: 'table.isRefused = false',
  },
  {
    name: 'fence-of-a-repeat-not-seen',
    breaks: 'A repeated finish that was fenced counts as carried out.',
    file: settler,
    find: 'const pending = isSure ? undefined : await this.#pendingOf(batch)',
    replace: 'const pending = isSure ? undefined : undefined',
  },
  {
    name: 'unreadable-row-dies-early',
    breaks: 'In `ordered` an unreadable row is DEAD before those in front of it are finished.',
    file: relay,
    find: 'if (holder === undefined) return this.#waitsToDie(event)',
    replace: 'if (holder === undefined) return false',
  },
]
