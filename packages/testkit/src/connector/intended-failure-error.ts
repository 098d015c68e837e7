import { WaybillError } from '@waybill/core'

/** A handler failed because its test wants it to. */
export class IntendedFailureError extends WaybillError {
  static override readonly code = 'WAYBILL_INTENDED_FAILURE'

  constructor(failure: number, times: number) {
    super(`Failure ${failure} of ${times}, as the test wants it.`)
  }
}
