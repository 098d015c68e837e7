/**
 * The state of a partition's producers.
 *
 * The epoch is kept here, on the partition, and rises when a batch or marker with a higher one is written: a producer
 * that was fenced at its coordinator goes on writing to partitions that its successor has not touched. Sequences are
 * remembered for the last five batches, so that one whose answer was lost is recognised when it comes again.
 */

import { errorCode, type RecordBatch } from '@waybill/kafka/wire'

/** The number of recent batches that are recognized as duplicates: the most a client may have in flight. */
const rememberedBatches = 5
const lastSequence = 2 ** 31 - 1

interface WrittenBatch {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly baseOffset: bigint
  readonly maxTimestamp: number
}

interface ProducerEntry {
  epoch: number
  batches: WrittenBatch[]
  /** First offset of its open transaction. */
  openSince: bigint | null
}

/** The decision about a batch. */
export type SequenceVerdict =
  | { readonly kind: 'APPEND' }
  | { readonly kind: 'DUPLICATE'; readonly baseOffset: bigint; readonly maxTimestamp: number }
  | { readonly kind: 'REFUSE'; readonly errorCode: number; readonly why: string }

const append: SequenceVerdict = { kind: 'APPEND' }

/** The producers of one partition. */
export class ProducerStates {
  readonly #entries = new Map<bigint, ProducerEntry>()

  /** Whether the batch is new, was written before, or may not be written. */
  check(batch: RecordBatch): SequenceVerdict {
    const { producerId, producerEpoch, baseSequence } = batch
    const entry = this.#entries.get(producerId)
    if (producerId < 0n || entry === undefined) return append
    if (producerEpoch < entry.epoch)
      return refuse(errorCode.INVALID_PRODUCER_EPOCH, `epoch ${producerEpoch} is older than ${entry.epoch}`)
    if (producerEpoch > entry.epoch)
      return baseSequence === 0
        ? append
        : refuse(errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, `a new epoch starts at sequence ${baseSequence}`)
    const last = sequenceAfter(baseSequence, batch.lastOffsetDelta)
    const known = entry.batches.find((one) => one.firstSequence === baseSequence && one.lastSequence === last)
    if (known !== undefined)
      return { kind: 'DUPLICATE', baseOffset: known.baseOffset, maxTimestamp: known.maxTimestamp }
    if (entry.openSince !== null && !batch.isTransactional)
      return refuse(errorCode.INVALID_TXN_STATE, 'the producer has a transaction open here')
    const expected = nextSequence(entry)
    return baseSequence === expected
      ? append
      : refuse(errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, `sequence ${baseSequence} instead of ${expected}`)
  }

  /** Remembers a batch that was appended. */
  wrote(batch: RecordBatch): void {
    const { producerId, baseSequence, baseOffset, maxTimestamp } = batch
    if (producerId < 0n) return
    const entry = this.#entryOf(producerId, batch.producerEpoch)
    const last = sequenceAfter(baseSequence, batch.lastOffsetDelta)
    entry.batches.push({ firstSequence: baseSequence, lastSequence: last, baseOffset, maxTimestamp })
    if (entry.batches.length > rememberedBatches) entry.batches.shift()
    if (batch.isTransactional) entry.openSince ??= baseOffset
  }

  /** Rebuilds the state from the batches of the log, oldest first. */
  rebuild(batches: Iterable<RecordBatch>): void {
    this.#entries.clear()
    for (const batch of batches)
      if (batch.isControl) this.endTransaction(batch.producerId, batch.producerEpoch)
      else this.wrote(batch)
  }

  /** Ends the producer's transaction here and answers where it began; null when none was open. */
  endTransaction(producerId: bigint, producerEpoch: number): bigint | null {
    const entry = this.#entryOf(producerId, producerEpoch)
    const { openSince } = entry
    entry.openSince = null
    return openSince
  }

  /** True while the producer has a transaction open here. */
  isOpen(producerId: bigint): boolean {
    return (this.#entries.get(producerId)?.openSince ?? null) !== null
  }

  /** The epoch that last wrote here; -1 for a producer that never did. */
  epochOf(producerId: bigint): number {
    return this.#entries.get(producerId)?.epoch ?? -1
  }

  /** Where the oldest open transaction began; null when none is open. */
  oldestOpen(): bigint | null {
    let oldest: bigint | null = null
    for (const { openSince } of this.#entries.values())
      if (openSince !== null && (oldest === null || openSince < oldest)) oldest = openSince
    return oldest
  }

  #entryOf(producerId: bigint, epoch: number): ProducerEntry {
    let entry = this.#entries.get(producerId)
    if (entry === undefined) {
      entry = { epoch, batches: [], openSince: null }
      this.#entries.set(producerId, entry)
    } else if (epoch > entry.epoch) {
      entry.epoch = epoch
      entry.batches = []
    }
    return entry
  }
}

/** A marker starts an epoch without a sequence, and so does an unknown producer. */
function nextSequence(entry: ProducerEntry): number {
  const last = entry.batches.at(-1)
  return last === undefined ? 0 : sequenceAfter(last.lastSequence, 1)
}

/** Sequences go round after 2^31 - 1. */
function sequenceAfter(sequence: number, steps: number): number {
  const next = sequence + steps
  return next > lastSequence ? next - lastSequence - 1 : next
}

function refuse(code: number, why: string): SequenceVerdict {
  return { kind: 'REFUSE', errorCode: code, why }
}
