import type { Runtime } from '@waybill/core'
import { mayPass } from '../cluster/kafka-error.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'

/**
 * Retries the work until it succeeds. Rejects with its error when a retry cannot succeed or would end after
 * `deadlineMs`, and with the signal's reason when that aborts.
 */
export async function persist<T>(
  runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>,
  bounds: { readonly signal: AbortSignal; readonly deadlineMs: number },
  work: (leftMs: number) => Promise<T>,
): Promise<T> {
  const endAt = runtime.clock.monotonic() + bounds.deadlineMs
  for (let failures = 1; ; failures++) {
    try {
      return await work(Math.max(1, endAt - runtime.clock.monotonic()))
    } catch (error) {
      const waitMs = retryWaitMs(failures, runtime.random)
      if (!mayPass(error) || runtime.clock.monotonic() + waitMs >= endAt) throw error
      await runtime.timers.sleep(waitMs, bounds.signal)
    }
  }
}
