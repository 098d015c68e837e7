/** The errors of codecs. */

import { ParseError, UnavailableError } from '@waybill/core'
import { recordUnchanged } from '@waybill/core/internal'

/**
 * The schema that a codec writes with is not registered, or the registry refuses it. The event waits until the schema is
 * registered, and spends no attempt.
 */
export class SchemaNotRegisteredError extends UnavailableError {
  static override readonly code: string = 'WAYBILL_SCHEMA_NOT_REGISTERED'
}

/** Returns the error of bytes that can never be decoded. */
export function unreadable(path: string, problem: string, cause?: unknown): ParseError {
  const what = path === '' ? `The payload ${problem}.` : `The payload cannot be read at ${path}: it ${problem}.`
  return new ParseError(what, { ...recordUnchanged, ...(cause === undefined ? {} : { cause }) })
}
