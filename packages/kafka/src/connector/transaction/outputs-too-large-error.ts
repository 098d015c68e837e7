import { WaybillError } from '@waybill/core'

/** A handler sends more for one record than its transaction may hold. */
export class OutputsTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTPUTS_TOO_LARGE'

  constructor(bytes: number, maxBytes: number) {
    super(`A call of the handler has sent ${bytes} bytes, and a transaction holds ${maxBytes}.`, {
      kept: 'Nothing of a call that fails with this is written, and its record is not tried again.',
      next: 'Send less for one record, or raise transactional.maxBytes.',
    })
  }
}
