import type { Timers } from '@waybill/core'
import type { Deadline } from '@waybill/core/internal'

/** What is told to end. */
export interface Draining {
  /** Resolves when nothing is queued, runs or settles any more. */
  quiet(): Promise<void>
  /** Starts nothing more, and tells the listeners that run. */
  cutOff(): void
}

/** Lets deliveries end by themselves for a while, and cuts off the rest (S1-078) while there is time to end for them. */
export async function drain(
  deliveries: Draining,
  drainTimeoutMs: number,
  deadline: Deadline,
  timers: Pick<Timers, 'sleep'>,
): Promise<void> {
  const drained = deliveries.quiet()
  const ended = new AbortController()
  const patience = timers
    .sleep(patienceMs(drainTimeoutMs, deadline.remainingMs()), AbortSignal.any([deadline.signal, ended.signal]))
    .catch(() => {}) // Quiet before its time, or the deadline was brought forward: either way it is over.
  await Promise.race([drained, patience])
  ended.abort()
  deliveries.cutOff()
  // Nothing is finished under a listener that still runs: who stops has to wait for it, or name it (I18).
  await Promise.race([drained, aborted(deadline.signal)])
}

/** For a listener to heed its signal, and for the statement behind it: a quarter of the time, and no more than this. */
const longestEndMs = 2_000

/** How long deliveries may end by themselves. Cut off at the deadline itself, a listener that heeds it is late all the same. */
function patienceMs(drainTimeoutMs: number, remainingMs: number): number {
  return Math.min(drainTimeoutMs, remainingMs - Math.min(remainingMs / 4, longestEndMs))
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
