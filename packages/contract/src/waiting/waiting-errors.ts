import { WaybillError } from '@waybill/core'
import type { WaitingReport } from './check-waiting.ts'

/** Waiting records that the catalog cannot read, or that could not be checked. */
export class WaitingRecordsError extends WaybillError {
  static override readonly code = 'WAYBILL_WAITING_RECORDS_UNREADABLE'
  /** Null if the records could not be read at all. */
  readonly report: WaitingReport | null

  constructor(what: string, report: WaitingReport | null, cause?: unknown) {
    super(what, {
      impact: 'Nothing was started, and the records keep their places.',
      hint: "Add an upcast step or keep the event in the catalog; waitingCheck: 'WARN' starts anyway.",
      ...(cause === undefined ? {} : { cause }),
    })
    this.report = report
  }
}
