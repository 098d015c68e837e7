import { Buffer } from 'node:buffer'
import { type BatchProducer, batchHeaderBytes, crc32c, encodeBatch } from '@waybill/kafka/wire'

/** A batch of a made-up log. */
export interface ModelBatch {
  readonly bytes: Buffer
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  /** Offsets of its records that a reader of committed records sees. */
  readonly visible: bigint[]
}

const plain: BatchProducer = { producerId: -1n, producerEpoch: -1, baseSequence: -1, isTransactional: false }

/** Makes a log batch by batch, as a broker would store it, and knows what a reader may see of it. */
export class LogModel {
  readonly batches: ModelBatch[] = []
  readonly aborted: { producerId: bigint; firstOffset: bigint; markerOffset: bigint }[] = []
  readonly #open = new Map<bigint, { firstOffset: bigint; batches: { batch: ModelBatch; offsets: bigint[] }[] }>()
  #end: bigint

  constructor(start = 0n) {
    this.#end = start
  }

  get end(): bigint {
    return this.#end
  }

  /** Records at these places of a batch of `size`: the other offsets were compacted away. */
  append(size: number, present: readonly number[] = range(size), producerId?: bigint): void {
    const firstOffset = this.#end
    const producer = producerId === undefined ? plain : transactional(producerId)
    const bytes = sparseBatch(firstOffset, size, present, producer)
    const offsets = present.map((delta) => firstOffset + BigInt(delta))
    const batch = { bytes, firstOffset, lastOffset: firstOffset + BigInt(size) - 1n, visible: [] as bigint[] }
    if (producerId === undefined) batch.visible.push(...offsets)
    else this.#inTransaction(producerId, batch, offsets)
    this.batches.push(batch)
    this.#end += BigInt(size)
  }

  /** Ends a producer's transaction with a marker; does nothing when it has none. */
  endTransaction(producerId: bigint, isCommitted: boolean): void {
    const transaction = this.#open.get(producerId)
    if (transaction === undefined) return
    this.#open.delete(producerId)
    if (isCommitted) for (const { batch, offsets } of transaction.batches) batch.visible.push(...offsets)
    else this.aborted.push({ producerId, firstOffset: transaction.firstOffset, markerOffset: this.#end })
    const bytes = marker(this.#end, producerId, isCommitted)
    this.batches.push({ bytes, firstOffset: this.#end, lastOffset: this.#end, visible: [] })
    this.#end++
  }

  endAll(): void {
    for (const producerId of this.#open.keys()) this.endTransaction(producerId, false)
  }

  /** Returns a broker's response from an offset on, up to so many batches. */
  slice(from: bigint, count: number): { records: Buffer; aborted: { producerId: bigint; firstOffset: bigint }[] } {
    const first = this.batches.findIndex(({ lastOffset }) => lastOffset >= from)
    const batches = first < 0 ? [] : this.batches.slice(first, first + count)
    const upTo = batches.at(-1)?.lastOffset ?? from
    const aborted = this.aborted
      .filter(({ firstOffset, markerOffset }) => firstOffset <= upTo && markerOffset >= from)
      .map(({ producerId, firstOffset }) => ({ producerId, firstOffset }))
    return { records: Buffer.concat(batches.map(({ bytes }) => bytes)), aborted }
  }

  get visible(): bigint[] {
    return this.batches.flatMap((batch) => batch.visible)
  }

  #inTransaction(producerId: bigint, batch: ModelBatch, offsets: bigint[]): void {
    const open = this.#open.get(producerId)
    if (open === undefined)
      this.#open.set(producerId, { firstOffset: batch.firstOffset, batches: [{ batch, offsets }] })
    else open.batches.push({ batch, offsets })
  }
}

/** 0 to `count - 1`. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

function transactional(producerId: bigint): BatchProducer {
  return { producerId, producerEpoch: 0, baseSequence: 0, isTransactional: true }
}

const record = (key: Buffer | null) => ({ key, value: Buffer.from('v'), headers: [], timestamp: 1 })

/** A batch as compaction leaves it: its offsets stay, some of its records go. */
function sparseBatch(firstOffset: bigint, size: number, present: readonly number[], producer: BatchProducer): Buffer {
  const whole = encodeBatch(
    range(size).map(() => record(null)),
    'NONE',
    producer,
  )
  const body = whole.subarray(batchHeaderBytes)
  // All records of this batch are equally long: one byte each for length, attributes, deltas and so on.
  const each = body.length / size
  const kept = present.map((index) => body.subarray(index * each, (index + 1) * each))
  const batch = Buffer.concat([whole.subarray(0, batchHeaderBytes), ...kept])
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(present.length, 57)
  return sealed(batch, firstOffset)
}

function marker(offset: bigint, producerId: bigint, isCommitted: boolean): Buffer {
  const key = Buffer.from([0, 0, 0, isCommitted ? 1 : 0])
  const batch = encodeBatch([record(key)], 'NONE', transactional(producerId))
  batch.writeInt16BE(batch.readInt16BE(21) | 0x20, 21)
  return sealed(batch, offset)
}

function sealed(batch: Buffer, firstOffset: bigint): Buffer {
  batch.writeBigInt64BE(firstOffset, 0)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}
