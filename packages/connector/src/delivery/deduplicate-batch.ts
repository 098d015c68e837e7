/**
 * Repeats among the records of a batch (C-17). Those that are told by the store are left out of the call; marks follow what
 * succeeded, record by record.
 */

import type { Timers } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { BatchHandler } from '../api/binding.ts'
import { BatchProcessingError, batchFailureOf } from '../handlers/batch-processing-error.ts'
import type { RecordContext } from '../handlers/delivery-context.ts'
import { requireTime } from './deduplicate.ts'
import { callWithin, HandlerTimeoutError } from './handler-timeout.ts'
import type { RecordMarks } from './record-marks.ts'

/**
 * What is known of a record before the call. UNKNOWN: the store did not answer, there is no key, or one before it in the
 * batch has the same and decides.
 */
export type Repeat = 'DUPLICATE' | 'UNKNOWN'

/** Looks for repeats in batches of a binding's source. */
export interface BatchRepeats {
  /**
   * Those of which something is known; the others are to be handled. Never rejects.
   * @param over - ends it, with what is known by then: what is given up need not be told apart here
   */
  look(records: readonly KafkaRecord[], over?: AbortSignal): Promise<ReadonlyMap<KafkaRecord, Repeat>>
  /** As many from the first on as need the same: the handler, or only their marks. Those do not share a call, nor a fate. */
  alike(records: readonly KafkaRecord[]): readonly KafkaRecord[]
}

/** How long a look may take: as long as a call. */
export interface LookLimit {
  readonly handlerTimeoutMs: number | false
  readonly timers: Timers
}

/** Calls of the store that are under way at once. What nobody waits for any more still occupies it, and is not more. */
const partSize = 50
const neverAborted = new AbortController().signal

/** Asks for the records of a batch, part by part. */
export class StoredRepeats implements BatchRepeats {
  readonly #marks: RecordMarks
  readonly #limit: LookLimit

  constructor(marks: RecordMarks, limit: LookLimit) {
    this.#marks = marks
    this.#limit = limit
  }

  async look(
    records: readonly KafkaRecord[],
    over: AbortSignal = neverAborted,
  ): Promise<ReadonlyMap<KafkaRecord, Repeat>> {
    const { handlerTimeoutMs, timers } = this.#limit
    const found = new Map<KafkaRecord, Repeat>(records.map((record) => [record, 'UNKNOWN']))
    if (over.aborted) return found
    const ask = (signal: AbortSignal): Promise<void> => untilAborted(signal, this.#lookForAll(records, found, signal))
    if (handlerTimeoutMs === false) await ask(over)
    // What was answered in time counts. If that is nothing, the first is delivered alone: its look is a call that can fail.
    else await callWithin(timers, handlerTimeoutMs, over, ask).catch(() => {})
    return new Map(found) // Answers that are late change nothing.
  }

  alike(records: readonly KafkaRecord[]): readonly KafkaRecord[] {
    const isHandled = records[0] !== undefined && this.#marks.isHandled(records[0])
    const end = records.findIndex((record) => this.#marks.isHandled(record) !== isHandled)
    return end < 0 ? records : records.slice(0, end)
  }

  /** @param found - takes each answer when it is there */
  async #lookForAll(
    records: readonly KafkaRecord[],
    found: Map<KafkaRecord, Repeat>,
    over: AbortSignal,
  ): Promise<void> {
    const keys = new Set<string>()
    for (const part of partsOf(records)) {
      await Promise.all(
        part.map(async (record) => {
          const repeat = await this.#lookFor(record, keys)
          if (repeat === undefined) found.delete(record)
          else found.set(record, repeat)
        }),
      )
      // The batch ends before the first that is unknown: what is behind it is asked for with the next.
      if (over.aborted || part.some((record) => found.get(record) === 'UNKNOWN')) return
    }
  }

  /** @param keys - of the records before it */
  async #lookFor(record: KafkaRecord, keys: Set<string>): Promise<Repeat | undefined> {
    try {
      const key = sourceKeyOf(this.#marks, record)
      const isFirst = !keys.has(key)
      keys.add(key)
      if (this.#marks.isHandled(record)) return undefined
      if (await this.#marks.seen(key)) return 'DUPLICATE'
      return isFirst ? undefined : 'UNKNOWN'
    } catch {
      return 'UNKNOWN'
    }
  }
}

/** The handler, with the marks of what it handled beside it. Is given records that are alike. */
export function markingHandler(handler: BatchHandler, marks: RecordMarks): BatchHandler {
  return {
    async handleBatch(records, context: RecordContext) {
      const isHandled = marks.isHandled(records[0] as KafkaRecord)
      const failure = isHandled ? undefined : await handle(handler, records, context)
      requireTime(context)
      const succeeded = records.slice(0, failure?.failedIndex)
      for (const record of succeeded) marks.handled(record)
      await markAll(marks, succeeded, context)
      if (failure !== undefined) throw failure
    },
  }
}

/** @returns the failure of one of them, behind others that succeeded; throws when none of them did for sure. */
async function handle(
  handler: BatchHandler,
  records: readonly KafkaRecord[],
  context: RecordContext,
): Promise<BatchProcessingError | undefined> {
  try {
    await handler.handleBatch(records.slice(), context) // It may take records off the list, which is still needed here.
    return undefined
  } catch (thrown) {
    const { index, error } = batchFailureOf(thrown, records.length)
    if (index === undefined) throw error
    return new BatchProcessingError(index, { cause: error })
  }
}

/** Those before the first that could not be marked are done; it and those behind it only need their marks. */
async function markAll(
  marks: RecordMarks,
  records: readonly KafkaRecord[],
  { signal }: Pick<RecordContext, 'signal'>,
): Promise<void> {
  let marked = 0
  for (const part of partsOf(records)) {
    // Another attempt goes on here. With a partition that is given up there is none, and each mark saves a repeat.
    if (signal.reason instanceof HandlerTimeoutError) throw signal.reason
    const settled = await Promise.allSettled(part.map((record) => markOne(marks, record)))
    const failedAt = settled.findIndex(({ status }) => status === 'rejected')
    const failed = settled[failedAt]
    if (failed?.status === 'rejected') throw new BatchProcessingError(marked + failedAt, { cause: failed.reason })
    marked += part.length
  }
}

/** A mark that is late is there none the less: the next attempt has less to do. */
async function markOne(marks: RecordMarks, record: KafkaRecord): Promise<void> {
  if (marks.isMarked(record)) return
  await marks.mark(sourceKeyOf(marks, record))
  marks.marked(record)
}

/** Resolves when `running` does, or at the signal: what comes later is not waited for. */
async function untilAborted(signal: AbortSignal, running: Promise<void>): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  signal.addEventListener('abort', end, { once: true })
  try {
    await Promise.race([running, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** In their order. */
function* partsOf(records: readonly KafkaRecord[]): Generator<readonly KafkaRecord[]> {
  for (let at = 0; at < records.length; at += partSize) yield records.slice(at, at + partSize)
}

/** Only batches of the source are called together. */
function sourceKeyOf(marks: RecordMarks, record: KafkaRecord): string {
  return marks.keyOf(record, 'SOURCE', undefined)
}
