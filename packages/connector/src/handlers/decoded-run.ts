/** Prepares the handler call for a record whose value is decoded first. */

import type { KafkaRecord } from '@waybill/kafka'
import type { ValueDecoder } from '../api/decode-option.ts'
import type { DecodedRecord } from '../api/handler-types.ts'
import type { RecordContext } from './delivery-context.ts'
import { type Prepared, type PreparedRun } from './prepared.ts'
import { requireStart } from './require-start.ts'
import { poisonOf } from './value-decoder.ts'
import { ValueRecord } from './value-record.ts'

/** Calls the handler with a decoded record. */
export type DecodedCall = (record: DecodedRecord, context: RecordContext<unknown>) => Promise<void> | void

/**
 * Decodes a record. POISON if that can never succeed; the run of a decoder that was unavailable decodes the record
 * itself. Never throws or rejects.
 */
export function prepareDecoded(
  record: KafkaRecord,
  decoder: ValueDecoder,
  call: DecodedCall,
): Prepared | Promise<Prepared> {
  const run = (decoded: Decoded | undefined): Prepared => new DecodedRun(record, decoder, call, decoded)
  const failed = (thrown: unknown): Prepared => {
    const error = poisonOf(thrown)
    return error === undefined ? run(undefined) : { kind: 'POISON', error }
  }
  try {
    const value = decodeValue(record, decoder)
    return isThenable(value) ? Promise.resolve(value).then((one) => run({ value: one }), failed) : run({ value })
  } catch (thrown) {
    return failed(thrown)
  }
}

/** Decodes the value of a record; null stays null. */
export function decodeValue(record: KafkaRecord, decoder: ValueDecoder): unknown {
  const { value } = record
  return value === null ? null : decoder(value, record)
}

/** Returns whether a decoder answers later. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

interface Decoded {
  readonly value: unknown
}

/** One record and its handler. */
class DecodedRun implements PreparedRun {
  readonly kind = 'RUN'
  readonly #record: KafkaRecord
  readonly #decoder: ValueDecoder
  readonly #call: DecodedCall
  #decoded: Decoded | undefined

  constructor(record: KafkaRecord, decoder: ValueDecoder, call: DecodedCall, decoded: Decoded | undefined) {
    this.#record = record
    this.#decoder = decoder
    this.#call = call
    this.#decoded = decoded
  }

  run(context: RecordContext<unknown>): Promise<void> | void {
    const value = this.#take()
    if (isThenable(value)) return this.#callLater(value, context)
    return this.#call(new ValueRecord(this.#record, value), context)
  }

  /** Returns a fresh value for each call: a failed call may have modified it. */
  #take(): unknown {
    const decoded = this.#decoded
    this.#decoded = undefined
    return decoded === undefined ? decodeValue(this.#record, this.#decoder) : decoded.value
  }

  async #callLater(decoding: PromiseLike<unknown>, context: RecordContext<unknown>): Promise<void> {
    const value = await decoding
    requireStart(context) // Decoding took time.
    await this.#call(new ValueRecord(this.#record, value), context)
  }
}
