import type { Buffer } from 'node:buffer'
import { errorCode, type RecordBatch, readBatches } from '@waybill/kafka/wire'

const origin = { topic: 't', partition: 0, epoch: 0 }

/** The values of a batch, as text. */
export function valuesOf(batch: Buffer): string[] {
  return [...readBatches(batch)].flatMap((one) => one.records(origin, 0n).map((record) => String(record.value)))
}

/** The only batch in these bytes. */
export function batchOf(bytes: Buffer): RecordBatch {
  const [batch] = readBatches(bytes)
  if (batch === undefined) throw new Error('There is no batch.')
  return batch
}

function refused(code: number) {
  return { code, message: null, baseOffset: -1n }
}

/** One partition's log with the broker's rules for producers, written a second time and as short as can be. */
export class ModelPartition {
  readonly log: string[] = []
  /** The topic's limits were raised. */
  acceptsPoison = false
  #epoch = -1
  #written: { first: number; count: number; offset: bigint }[] = []

  /** Loses what the producer wrote last, as an unclean election does. */
  forgetLast(): void {
    const last = this.#written.pop()
    if (last !== undefined) this.log.length = Number(last.offset)
  }

  append(bytes: Buffer): { code: number; message: null; baseOffset: bigint } {
    const { producerEpoch, baseSequence, recordCount } = batchOf(bytes)
    const values = valuesOf(bytes)
    if (!this.acceptsPoison && values.some((value) => value.startsWith('poison')))
      return refused(errorCode.MESSAGE_TOO_LARGE)
    if (producerEpoch < this.#epoch) return refused(errorCode.INVALID_PRODUCER_EPOCH)
    if (producerEpoch > this.#epoch) {
      if (baseSequence !== 0 && this.#epoch !== -1) return refused(errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
      this.#epoch = producerEpoch
      this.#written = []
    } else {
      const known = this.#written.find(({ first, count }) => first === baseSequence && count === recordCount)
      if (known !== undefined) return { code: errorCode.NONE, message: null, baseOffset: known.offset }
      const last = this.#written.at(-1)
      const expected = last === undefined ? 0 : (last.first + last.count) % 2 ** 31
      if (baseSequence !== expected) return refused(errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    }
    const offset = BigInt(this.log.length)
    this.#written = [...this.#written, { first: baseSequence, count: recordCount, offset }].slice(-5)
    this.log.push(...values)
    return { code: errorCode.NONE, message: null, baseOffset: offset }
  }
}
