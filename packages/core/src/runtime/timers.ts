import { ArgumentError } from '../errors.ts'
import { abortReason } from './abort.ts'

/** Runs code later. Engines take it from the Runtime, so that a simulation owns every wait. */
export interface Timers {
  /**
   * Resolves after `ms` milliseconds; zero or less resolves on the next turn, never synchronously. Rejects with the
   * signal's reason when it aborts first, and leaves no timer or listener behind either way. It is awaited, so
   * it keeps the process alive.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Calls `run` once after `ms` milliseconds, never earlier and never synchronously; after Infinity, never. Disposing
   * before that cancels it; disposing later does nothing. It is not awaited, so it does not keep the process alive: work
   * that an exit must not interrupt belongs to a Service.
   *
   * @throws ArgumentError when `ms` is NaN.
   */
  schedule(ms: number, run: () => void): Disposable
}

/** Node fires a longer delay at once, with only a warning on stderr: a retry due in 30 days would run now. */
const longestDelayMs = 2 ** 31 - 1

/** `sleep` for any implementation of `schedule`. */
export function sleepWith(schedule: Timers['schedule'], ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortReason(signal))
      return
    }
    const onAbort = (): void => {
      timer[Symbol.dispose]()
      reject(abortReason(signal as AbortSignal))
    }
    const timer = schedule(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function scheduleOnSystem(ms: number, run: () => void, keepsAlive: boolean): Disposable {
  // Node would take NaN for one millisecond, and a wrong sum would become a hot loop.
  if (Number.isNaN(ms)) throw new ArgumentError('Cannot wait for NaN milliseconds.')
  const dueAt = performance.now() + ms
  let handle: NodeJS.Timeout
  const arm = (): void => {
    // A pause between two readings can leave less than nothing to wait for.
    const leftMs = Math.max(0, Math.ceil(dueAt - performance.now()))
    handle = setTimeout(wake, Math.min(leftMs, longestDelayMs))
    if (!keepsAlive) handle.unref()
  }
  // Node counts whole milliseconds and may wake a fraction early, or after one chunk of a long delay. The clock
  // decides: adding up chunks would add up their lateness, and a retry must not run before it is due (I12).
  const wake = (): void => (performance.now() < dueAt ? arm() : run())
  arm()
  return { [Symbol.dispose]: () => clearTimeout(handle) }
}

/** Timers on Node's event loop. Delays above 2^31-1 ms are waited for in chunks. */
export const systemTimers: Timers = Object.freeze({
  schedule: (ms: number, run: () => void) => scheduleOnSystem(ms, run, false),
  sleep: (ms: number, signal?: AbortSignal) => sleepWith((wait, run) => scheduleOnSystem(wait, run, true), ms, signal),
})
