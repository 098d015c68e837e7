import { describeThrown, WaybillError } from '@waybill/core'

/** An outbox row contains no readable event. */
export class RowUnreadableError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_ROW_UNREADABLE'

  constructor(seq: bigint, cause: unknown) {
    super(`The outbox row ${seq} cannot be read: ${describeThrown(cause)}`, {
      cause,
      impact: 'The row stays as it is stored, and the rows around it are delivered.',
      hint: 'Correct the row and replay it, or give the store a codec that reads its headers.',
    })
  }
}
