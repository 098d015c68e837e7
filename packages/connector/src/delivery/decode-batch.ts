/** Decodes the records of a batch before its call, so that a record that cannot be decoded keeps no other from it. */

import type { Buffer } from 'node:buffer'
import type { KafkaRecord } from '@waybill/kafka'
import type { ValueDecoder } from '../api/decode-option.ts'
import type { BatchHandler, DecodedRecord } from '../api/handler-types.ts'
import { BatchProcessingError } from '../handlers/batch-processing-error.ts'
import { decodeValue, isThenable } from '../handlers/decoded-run.ts'
import type { RecordContext } from '../handlers/delivery-context.ts'
import { requireStart } from '../handlers/require-start.ts'
import { poisonOf } from '../handlers/value-decoder.ts'
import { ValueRecord } from '../handlers/value-record.ts'
import type { DeserializationError } from '../records/record-errors.ts'
import { type PreparationLimit, resolveInTime } from './resolve-in-time.ts'

/** The failure of a record before the call. UNKNOWN: the decoder was unavailable, or did not answer in time. */
export type Undecoded = DeserializationError | 'UNKNOWN'

const none: ReadonlyMap<KafkaRecord, Undecoded> = new Map()

/** Decodes the batches of a binding's source. */
export class BatchDecoding {
  readonly #decoder: ValueDecoder
  readonly #limit: PreparationLimit
  /** Values for the first call. A later call receives fresh ones, since a failed call may have modified these. */
  readonly #values = new WeakMap<KafkaRecord, { readonly value: unknown }>()

  constructor(decoder: ValueDecoder, limit: PreparationLimit) {
    this.#decoder = decoder
    this.#limit = limit
  }

  /**
   * Returns the records that could not be decoded; the others are ready for {@link wrap}. Never rejects.
   * @param over - ends the decoding with the results so far
   */
  async decode(records: readonly KafkaRecord[], over: AbortSignal): Promise<ReadonlyMap<KafkaRecord, Undecoded>> {
    const failed = new Map<KafkaRecord, Undecoded>()
    const later: Promise<void>[] = []
    for (const record of records) {
      const decoding = this.#decodeOne(record, failed)
      if (decoding !== undefined) later.push(decoding)
    }
    if (later.length > 0) await resolveInTime(() => Promise.all(later), this.#limit, over)
    return failed.size === 0 ? none : new Map(failed) // Late answers change nothing.
  }

  /** Wraps a handler so that it receives decoded records. */
  wrap(handler: BatchHandler): BatchHandler {
    return {
      handleBatch: async (records, context: RecordContext) => {
        const { decoded, failure } = await this.#decodeForCall(records)
        requireStart(context) // Decoding may have taken time.
        if (decoded.length > 0) await handler.handleBatch(decoded as DecodedRecord<Buffer>[], context)
        if (failure !== undefined) throw new BatchProcessingError(decoded.length, failure)
      },
    }
  }

  /** @returns a promise if the decoder answers later; until then the record counts as unknown */
  #decodeOne(record: KafkaRecord, failed: Map<KafkaRecord, Undecoded>): Promise<void> | undefined {
    try {
      const value = decodeValue(record, this.#decoder)
      if (isThenable(value)) {
        failed.set(record, 'UNKNOWN')
        return this.#await(record, value, failed)
      }
      this.#values.set(record, { value })
    } catch (thrown) {
      failed.set(record, poisonOf(thrown) ?? 'UNKNOWN')
    }
    return undefined
  }

  async #await(record: KafkaRecord, value: PromiseLike<unknown>, failed: Map<KafkaRecord, Undecoded>): Promise<void> {
    try {
      this.#values.set(record, { value: await value })
      failed.delete(record)
    } catch (thrown) {
      failed.set(record, poisonOf(thrown) ?? 'UNKNOWN')
    }
  }

  /** @returns the records before the first that a later call could not decode, and the failure of that record */
  async #decodeForCall(
    records: readonly KafkaRecord[],
  ): Promise<{ readonly decoded: readonly DecodedRecord[]; readonly failure?: { readonly cause: unknown } }> {
    const decoded: DecodedRecord[] = []
    for (const record of records) {
      try {
        const value = this.#take(record)
        decoded.push(new ValueRecord(record, isThenable(value) ? await value : value))
      } catch (thrown) {
        return { decoded, failure: { cause: poisonOf(thrown) ?? thrown } }
      }
    }
    return { decoded }
  }

  #take(record: KafkaRecord): unknown {
    const ready = this.#values.get(record)
    this.#values.delete(record)
    return ready === undefined ? decodeValue(record, this.#decoder) : ready.value
  }
}
