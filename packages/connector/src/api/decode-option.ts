/** The option `decode` of a binding, and the types that follow from it. */

import type { Buffer } from 'node:buffer'
import type { StandardSchema } from '@waybill/core'
import type { InferOutput } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'

/**
 * Decodes the value of a record; never called for null. It must not modify the bytes: the next attempt, the retry topic and
 * the dead letter have the same ones.
 */
export type ValueDecoder<Value = unknown> = (value: Buffer, record: KafkaRecord) => Promise<Value> | Value

/**
 * The decoding of values: as JSON, as UTF-8 text, by a function, or as JSON that a Standard Schema validates.
 */
export type DecodeOption = 'json' | 'text' | ValueDecoder | StandardSchema

/** A {@link DecodeOption} from which the type of the value follows. */
export type TypedDecoding = 'json' | 'text' | StandardSchema

/**
 * The type of the value that a handler receives: what the function returns, what the schema outputs, a string for text, or
 * unknown for JSON. Without `decode` it is a Buffer.
 */
export type DecodedValue<Decode extends TypedDecoding | undefined, Returned> = [Returned] extends [never]
  ? [Decode] extends [undefined]
    ? Buffer
    : Decode extends 'text'
      ? string
      : Decode extends StandardSchema
        ? InferOutput<Decode>
        : unknown
  : Returned
