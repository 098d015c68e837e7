import { describeThrown, WaybillError } from '@waybill/core'

/** A row of the outbox holds no event that can be read. */
export class RowUnreadableError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTBOX_ROW_UNREADABLE'

  constructor(seq: bigint, cause: unknown) {
    super(`The outbox row ${seq} cannot be read: ${describeThrown(cause)}`, {
      cause,
      impact: 'The row stays as it is stored, and the rows around it are delivered.',
      hint: 'Correct the row and replay it, or hand the store a codec that reads its headers.',
    })
  }
}
