import { WaybillError } from '../errors.ts'

/** Another retry would have taken longer than the poll interval can spare. Its cause is the last attempt's error. */
export class RetryBudgetExceededError extends WaybillError {
  static override readonly code = 'WAYBILL_RETRY_BUDGET_EXCEEDED'
  readonly attempts: number

  constructor(attempts: number, nextAtMs: number, budgetMs: number, cause: unknown) {
    super(
      `Stopped after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}: the next one would start ` +
        `${Math.ceil(nextAtMs)} ms after the first, beyond the retry budget of ${Math.floor(budgetMs)} ms.`,
      {
        cause,
        impact: 'Nothing was acknowledged: the record is still to be routed.',
        hint: 'Shorten the backoff or the handler, lower maxPollRecords, or raise maxPollIntervalMs.',
      },
    )
    this.attempts = attempts
  }
}
