import { type Timers, WaybillError } from '@waybill/core'

/** A handler took longer than `handlerTimeoutMs`. It is not stopped, only no longer awaited. */
export class HandlerTimeoutError extends WaybillError {
  static override readonly code = 'WAYBILL_HANDLER_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`The handler did not return within ${timeoutMs} ms.`, {
      impact: 'The record is not settled: this counts as a failed attempt.',
      hint: 'Stop the work when context.signal aborts, or raise handlerTimeoutMs.',
    })
  }
}

/**
 * Calls `run` with a signal that aborts after the time, or with `outer`. Rejects with {@link HandlerTimeoutError} when the
 * time is over; a later result of `run` is ignored.
 */
export async function callWithin<T>(
  timers: Timers,
  timeoutMs: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const controller = new AbortController()
  const follow = (): void => controller.abort(outer.reason)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = timers.schedule(timeoutMs, () => {
    const error = new HandlerTimeoutError(timeoutMs)
    controller.abort(error)
    reject(error)
  })
  if (outer.aborted) follow()
  else outer.addEventListener('abort', follow, { once: true })
  try {
    return await Promise.race([run(controller.signal), late])
  } finally {
    timer[Symbol.dispose]()
    outer.removeEventListener('abort', follow)
  }
}
