import { type ErrorContext, WaybillError } from '@waybill/core'

/** A record whose key or value cannot be decoded: the same bytes fail again, so no handler is called (S0-157, C-16). */
export class DeserializationError extends WaybillError {
  static override readonly code = 'WAYBILL_DESERIALIZATION_FAILED'
  /** Which of the two. */
  readonly part: 'KEY' | 'VALUE'

  constructor(part: 'KEY' | 'VALUE', context: Pick<ErrorContext, 'cause'> = {}) {
    super(`The record's ${part.toLowerCase()} cannot be decoded.`, {
      ...context,
      kept: 'The record is kept as a dead letter, byte for byte.',
      next: 'Correct its producer or the schema, then replay the dead letter.',
    })
    this.part = part
  }
}
