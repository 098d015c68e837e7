import { WaybillError } from '@waybill/core'

/**
 * A record that failed is larger than its tier takes: its producer's compression alone had made it small enough for the
 * source. It is never tried again, so it is a dead letter.
 */
export class RetryTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_RETRY_TOO_LARGE'

  /** @param failure - what the handler had thrown, in a line */
  constructor(topic: string, failure: string, cause: Error) {
    super(`The record is too large for ${topic}, and its handler had failed: ${failure}`, {
      cause,
      kept: 'It is a dead letter, with what its topic takes of it; the record itself stays in its source.',
      next: `Raise max.message.bytes of ${topic}, or send smaller records; then replay the dead letter.`,
    })
  }
}
