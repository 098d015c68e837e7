import { WaybillError } from '@waybill/core'

/** The error of a handler that fails because its test wants it to. */
export class IntendedFailureError extends WaybillError {
  static override readonly code = 'WAYBILL_INTENDED_FAILURE'

  constructor(failure: number, times: number) {
    super(`Failure ${failure} of ${times}, intended by the test.`)
  }
}
