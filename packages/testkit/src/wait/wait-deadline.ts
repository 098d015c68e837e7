import { type ErrorContext, type Timers, WaybillError } from '@waybill/core'

/** Reports that an awaited condition did not occur in time. */
export class WaitDeadlineError extends WaybillError {
  static override readonly code = 'WAYBILL_WAIT_DEADLINE_EXCEEDED'

  constructor(what: string, context: Pick<ErrorContext, 'cause'> = {}) {
    super(what, context)
  }
}

/**
 * Waits for a promise at most `deadlineMs`, then rejects with the error of `late`. Only the wait ends; the awaited work
 * continues. No timer is left behind.
 */
export async function withinDeadline<T>(
  awaited: Promise<T>,
  deadlineMs: number,
  timers: Timers,
  late: () => WaitDeadlineError,
): Promise<T> {
  const waiting = new AbortController()
  const deadline = timers.sleep(deadlineMs, waiting.signal).then(() => {
    throw late()
  })
  try {
    return await Promise.race([awaited, deadline])
  } finally {
    waiting.abort()
  }
}
