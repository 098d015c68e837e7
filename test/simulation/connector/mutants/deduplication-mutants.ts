/** Bugs of marks, in a store and in an inbox. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector } from './files.ts'

const deduplicate = `${connector}/delivery/deduplicate.ts`
const deduplicateBatch = `${connector}/delivery/deduplicate-batch.ts`
const decide = `${connector}/delivery/decide.ts`

const failedLook =
  "return new StoreRun(run, marks, keys, 'NOT_LOOKED') // The call repeats the lookup, and its failure is the record's."
const inboxStart = `        isHeld = context.retrying.aborted // BEGIN took time.
        requireStart(context)
`
const failedBatchLookup = "    } catch {\n      return 'UNKNOWN'\n"

/** See the file's comment. */
export const deduplicationMutants: readonly PlantedBug[] = [
  {
    name: 'mark-before-the-handler',
    breaks: 'A store has the mark of a record before its handler has succeeded.',
    file: deduplicate,
    find: `    if (!this.#marks.isHandled(context.record)) await this.#handle(context)
    await this.#marks.mark(this.#keys)
`,
    replace: `    await this.#marks.mark(this.#keys)
    if (!this.#marks.isHandled(context.record)) await this.#handle(context)
`,
  },
  {
    name: 'failed-look-taken-for-seen',
    breaks: 'A record is skipped when the store does not respond.',
    file: deduplicate,
    find: failedLook,
    replace: 'return duplicate',
  },
  {
    name: 'failed-look-taken-for-unseen',
    breaks: 'A record is handled when the store does not respond.',
    file: deduplicate,
    find: failedLook,
    replace: "return new StoreRun(run, marks, keys, 'LOOKED')",
  },
  {
    name: 'one-look-for-all-calls',
    breaks: 'A failed record is handled again without another lookup.',
    file: deduplicate,
    find: "    this.#look = 'NOT_LOOKED'\n",
    replace: '',
  },
  {
    name: 'mark-not-awaited',
    breaks: 'A record is settled though the store has not written its mark.',
    file: deduplicate,
    find: '    await this.#marks.mark(this.#keys)\n',
    replace: '    this.#marks.mark(this.#keys).catch(() => {})\n',
  },
  {
    name: 'handled-again-for-its-mark',
    breaks: 'A record that only needs its mark is handled again.',
    file: `${connector}/delivery/record-marks.ts`,
    find: 'return this.#handled.has(record)',
    replace: 'return record === undefined',
  },
  {
    name: 'late-call-marked',
    breaks: 'A store has the mark of a call that timed out.',
    file: deduplicate,
    find: '    await this.#run.run(context)\n    requireTime(context)\n',
    replace: '    await this.#run.run(context)\n',
  },
  {
    name: 'looked-too-long-and-started',
    breaks: 'A handler starts after a lookup that has outlasted its assignment.',
    file: deduplicate,
    find: '    requireStart(context) // The lookup took time.\n',
    replace: '',
  },
  {
    name: 'handler-started-behind-a-pause',
    breaks: 'A handler starts after a pause that came while its record was looked up.',
    file: `${connector}/handlers/require-start.ts`,
    find: '  if (context.retrying.aborted) throw notStarted\n',
    replace: '',
    also: [{ file: `${connector}/delivery/guard.ts`, find: '!scope.mayStart()', replace: 'scope === undefined' }],
  },
  {
    name: 'inbox-handler-started-behind-a-pause',
    breaks: 'A handler starts after a pause that came while its transaction began.',
    file: deduplicate,
    find: inboxStart,
    replace: '        requireTime(context)\n',
  },
  {
    name: 'inbox-mark-outside-the-transaction',
    breaks: 'The mark is committed before the handler is called, in a transaction of its own.',
    file: deduplicate,
    find: `        await this.#run.run(context.within(tx))
        requireTime(context)
      }
      const { key, former } = this.#keys
      const done = await this.#inbox.run(context.groupId, key, effect, former)
      if (done === 'DUPLICATE') throw duplicateFound
`,
    replace: `        context = context.within(tx)
      }
      const { key, former } = this.#keys
      const done = await this.#inbox.run(context.groupId, key, effect, former)
      if (done === 'DUPLICATE') throw duplicateFound
      await this.#run.run(context)
`,
  },
  {
    name: 'inbox-handler-not-awaited',
    breaks: 'The mark is committed while the handler still runs.',
    file: deduplicate,
    find: 'await this.#run.run(context.within(tx))',
    replace: 'void this.#run.run(context.within(tx))?.catch(() => {})',
  },
  {
    name: 'unknown-commit-taken-for-done',
    breaks: 'A record is settled though the outcome of its transaction is unknown.',
    file: deduplicate,
    find: `        requireTime(context)
      }
      const { key, former } = this.#keys
      const done = await this.#inbox.run(context.groupId, key, effect, former)
`,
    replace: `        requireTime(context)
        context = undefined
      }
      const { key, former } = this.#keys
      const done = await this.#inbox.run(context.groupId, key, effect, former).catch((error) => {
        if (context !== undefined) throw error
      })
`,
  },
  {
    name: 'late-call-committed',
    breaks: 'An inbox commits the mark of a call that timed out.',
    file: deduplicate,
    find: '        await this.#run.run(context.within(tx))\n        requireTime(context)\n',
    replace: '        await this.#run.run(context.within(tx))\n',
  },
  {
    name: 'begun-too-late-and-started',
    breaks: 'A handler starts in a transaction that began after its assignment was over.',
    file: deduplicate,
    find: inboxStart,
    replace: `        isHeld = context.retrying.aborted
        if (isHeld && !context.signal.aborted) throw notStarted
`,
  },
  {
    name: 'mark-without-the-replay',
    breaks: 'A replay has the mark of the record that died, and is dropped where that was marked.',
    file: `${connector}/handlers/natural-key.ts`,
    find: 'return replayCount === 0 ? place :',
    replace: 'return replayCount >= 0 ? place :',
  },
  {
    name: 'mark-without-the-time',
    breaks: 'A record of a recreated topic is taken for the earlier one at its place.',
    file: `${connector}/delivery/deduplication-key.ts`,
    find: '@${trail.original.timestamp}',
    replace: '@0',
  },
  {
    name: 'repeat-not-settled',
    breaks: 'A duplicate that the store detects stays in its tier.',
    file: decide,
    find: "    case 'DUPLICATE':\n      return decideDuplicate(work, deps)",
    replace: "    case 'DUPLICATE':\n      return cancelled",
  },
  {
    name: 'repeat-found-by-the-inbox-not-settled',
    breaks: 'A duplicate that the inbox detects stays in its tier.',
    file: decide,
    find: 'failure.error === duplicateFound) return decideDuplicate(work, deps)',
    replace: 'failure.error === duplicateFound) return cancelled',
  },
  {
    name: 'repeat-tried-again',
    breaks: 'A duplicate that the inbox detects counts as failed.',
    file: decide,
    find: "  if (failure.outcome === 'NOT_RETRYABLE' && failure.error === duplicateFound) return decideDuplicate(work, deps)\n",
    replace: '',
  },
  {
    name: 'repeat-counted-as-handled',
    breaks: 'A duplicate is counted as handled.',
    file: decide,
    find: 'return logged(work, duplicate, deps)',
    replace: 'return logged(work, done, deps)',
  },
  {
    name: 'batch-call-marks-what-failed',
    breaks: 'All records of a batch are marked, even the failed one and those behind it.',
    file: deduplicateBatch,
    find: 'records.slice(0, failure?.failedIndex)',
    replace: 'records.slice()',
  },
  {
    name: 'batch-call-failed-look-taken-for-seen',
    breaks: 'A record of a batch is skipped when the store does not respond.',
    file: deduplicateBatch,
    find: failedBatchLookup,
    replace: "    } catch {\n      return 'DUPLICATE'\n",
  },
  {
    name: 'batch-call-failed-look-taken-for-unseen',
    breaks: 'A record of a batch is handled when the store does not respond.',
    file: deduplicateBatch,
    find: failedBatchLookup,
    replace: '    } catch {\n      return undefined\n',
  },
  {
    name: 'batch-call-marks-what-it-never-handled',
    breaks: 'Records that only need their marks and records that need the handler are in one call.',
    file: deduplicateBatch,
    find: 'return end < 0 ? records : records.slice(0, end)',
    replace: 'return records',
  },
  {
    name: 'batch-call-handles-one-key-twice',
    breaks: 'Two records of one key are passed to one call.',
    file: deduplicateBatch,
    find: "return isFirst ? undefined : 'UNKNOWN'",
    replace: 'return undefined',
  },
]
