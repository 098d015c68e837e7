/**
 * Recognizes duplicates around the handler (I9).
 *
 *     store   seen? ── yes ──▶ DUPLICATE        inbox   BEGIN, insert the mark ── there already ──▶ DUPLICATE
 *               │ no                                      │ new
 *             handler ▸ mark                            handler with context.tx ▸ COMMIT
 *
 * | failure | record |
 * |---|---|
 * | the lookup | its delivery failed: it is retried, and never taken for a duplicate |
 * | the handler | the same, and there is no mark |
 * | the mark | the same; while the record stays in this process, only the mark is retried |
 * | COMMIT, without an answer | the same; the next call finds the mark, or finds none and repeats the effect |
 */

import type { Inbox } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { RecordContext } from '../handlers/delivery-context.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { duplicateFound, failedRun, notStarted, type PreparedRun } from '../handlers/prepared.ts'
import { requireStart, requireTime } from '../handlers/require-start.ts'
import { createKeyOf, type KeyOf, type MarkKeys } from './deduplication-key.ts'
import { RecordMarks } from './record-marks.ts'
import type { Ready } from './stage-values.ts'
import type { Work } from './work.ts'

/** The way a binding recognizes duplicates. */
export type Deduplication =
  | { readonly kind: 'STORE'; readonly marks: RecordMarks }
  | { readonly kind: 'INBOX'; readonly keyOf: KeyOf; readonly inbox: Inbox<unknown> }

const duplicate: Ready = Object.freeze({ kind: 'DUPLICATE' })

/** Returns the binding's own way, or that of its handler. Undefined: the handler tolerates duplicates. */
export function createDeduplication({
  deduplicate: settings,
  handler,
  cluster,
  groupId,
}: Pick<ResolvedBinding, 'deduplicate' | 'handler' | 'cluster' | 'groupId'>): Deduplication | undefined {
  const keyOf = createKeyOf(settings?.key, { cluster, groupId })
  if (settings?.store !== undefined) return { kind: 'STORE', marks: new RecordMarks(settings.store, groupId, keyOf) }
  const inbox = settings?.inbox ?? preparerOf(handler)?.inbox
  return inbox === undefined ? undefined : { kind: 'INBOX', keyOf, inbox }
}

/** Deduplicates a decoded record. A record that is not handled at all is not looked up. Never throws or rejects. */
export function deduplicate(
  work: Work,
  decoded: Ready | Promise<Ready>,
  { deduplication }: { readonly deduplication: Deduplication | undefined },
): Ready | Promise<Ready> {
  if (deduplication === undefined) return decoded
  return decoded instanceof Promise
    ? decoded.then((prepared) => deduplicateOne(work, prepared, deduplication))
    : deduplicateOne(work, decoded, deduplication)
}

function deduplicateOne({ record, kind }: Work, prepared: Ready, how: Deduplication): Ready | Promise<Ready> {
  if (prepared.kind !== 'RUN') return prepared
  const { keyOf } = how.kind === 'INBOX' ? how : how.marks
  let keys: MarkKeys
  try {
    keys = keyOf(record, kind, prepared.eventId)
  } catch (error) {
    return failedRun(error)
  }
  return how.kind === 'INBOX' ? new InboxRun(prepared, how.inbox, keys) : lookFor(prepared, record, how.marks, keys)
}

/** Looks a record up before the guard: a duplicate needs nothing that the circuit breaker protects. */
async function lookFor(run: PreparedRun, record: KafkaRecord, marks: RecordMarks, keys: MarkKeys): Promise<Ready> {
  if (marks.isHandled(record)) return new StoreRun(run, marks, keys, 'LOOKED')
  try {
    return (await marks.seen(keys)) ? duplicate : new StoreRun(run, marks, keys, 'LOOKED')
  } catch {
    return new StoreRun(run, marks, keys, 'NOT_LOOKED') // The call repeats the lookup, and its failure is the record's.
  }
}

/** A call whose mark is written after it. */
class StoreRun implements PreparedRun {
  readonly kind = 'RUN'
  readonly #run: PreparedRun
  readonly #marks: RecordMarks
  readonly #keys: MarkKeys
  /** A lookup is good for one call: a failed call may have written its mark. */
  #look: 'LOOKED' | 'NOT_LOOKED'

  constructor(run: PreparedRun, marks: RecordMarks, keys: MarkKeys, look: 'LOOKED' | 'NOT_LOOKED') {
    this.#run = run
    this.#marks = marks
    this.#keys = keys
    this.#look = look
  }

  async run(context: RecordContext<unknown>): Promise<void> {
    if (!this.#marks.isHandled(context.record)) await this.#handle(context)
    await this.#marks.mark(this.#keys)
  }

  async #handle(context: RecordContext<unknown>): Promise<void> {
    const isLooked = this.#look === 'LOOKED'
    this.#look = 'NOT_LOOKED'
    if (!isLooked && (await this.#marks.seen(this.#keys))) throw duplicateFound
    requireStart(context) // The lookup took time.
    await this.#run.run(context)
    requireTime(context)
    this.#marks.handled(context.record)
  }
}

/** A call whose mark is written in its transaction. */
class InboxRun implements PreparedRun {
  readonly kind = 'RUN'
  readonly #run: PreparedRun
  readonly #inbox: Inbox<unknown>
  readonly #keys: MarkKeys

  constructor(run: PreparedRun, inbox: Inbox<unknown>, keys: MarkKeys) {
    this.#run = run
    this.#inbox = inbox
    this.#keys = keys
  }

  async run(context: RecordContext<unknown>): Promise<void> {
    let isHeld = false
    try {
      const effect = async (tx: unknown): Promise<void> => {
        isHeld = context.retrying.aborted // BEGIN took time.
        requireStart(context)
        await this.#run.run(context.within(tx))
        requireTime(context)
      }
      const { key, former } = this.#keys
      const done = await this.#inbox.run(context.groupId, key, effect, former)
      if (done === 'DUPLICATE') throw duplicateFound
    } catch (error) {
      throw isHeld ? notStarted : error // An inbox may wrap what its work throws.
    }
  }
}
