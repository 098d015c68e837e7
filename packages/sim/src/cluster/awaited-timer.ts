import type { Timers } from '@waybill/core'

/**
 * A timer awaited across a connection. A scheduled one does not keep the process alive; a socket with
 * an answer outstanding would, and so does this.
 */
export function awaitedTimer(timers: Timers, ms: number, run: () => void): Disposable {
  const cancelled = new AbortController()
  timers.sleep(ms, cancelled.signal).then(run, () => {})
  return { [Symbol.dispose]: () => cancelled.abort() }
}
