/** Decodes the values of records for handlers that do not use a catalog of events. */

import type { Buffer } from 'node:buffer'
import { ParseError, type StandardSchema } from '@waybill/core'
import { failureKindOf, parseJsonBytes, recordUnchanged, utf8Text, validate } from '@waybill/core/internal'
import type { DecodeOption, ValueDecoder } from '../api/decode-option.ts'
import { DeserializationError } from '../records/record-errors.ts'

const subject = 'The value'

/** Returns the function that the option stands for. It throws or rejects with the decoder's own error. */
export function createValueDecoder(decode: DecodeOption): ValueDecoder {
  if (decode === 'json') return (value) => parseJsonBytes(value, subject)
  if (decode === 'text') return textOf
  // Some schemas are functions too.
  if (isSchema(decode)) return (value) => validate(decode, parseJsonBytes(value, subject), subject, recordUnchanged)
  return decode
}

/** Returns whether a value is a Standard Schema. */
export function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return typeof standard === 'object' && typeof standard?.validate === 'function'
}

/**
 * Returns the error of a record that can never be decoded; undefined if the decoder depends on something that was
 * unavailable, such as a registry of schemas. Only errors known to pass count: an unknown error of a decoder is almost
 * always the fault of the bytes, and would repeat in every tier.
 */
export function poisonOf(thrown: unknown): DeserializationError | undefined {
  const kind = failureKindOf(thrown)
  return kind === 'TRANSIENT' || kind === 'EXTENDED' ? undefined : new DeserializationError('VALUE', { cause: thrown })
}

function textOf(value: Buffer): string {
  const text = utf8Text(value)
  if (text === undefined) throw new ParseError(`${subject} is not UTF-8.`, recordUnchanged)
  return text
}
