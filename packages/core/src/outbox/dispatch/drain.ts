import type { Deadline } from '../../lifecycle/deadline.ts'
import type { Timers } from '../../time/timers.ts'

/** What is told to end. */
export interface Draining {
  /** Resolves when nothing is queued, runs or settles any more. */
  quiet(): Promise<void>
  /** Starts nothing more, and tells the listeners that run. */
  cutOff(): void
}

/** Lets deliveries end by themselves for a while, and cuts off the rest (S1-078). */
export async function drain(
  deliveries: Draining,
  drainTimeoutMs: number,
  deadline: Deadline,
  timers: Pick<Timers, 'sleep'>,
): Promise<void> {
  const drained = deliveries.quiet()
  const ended = new AbortController()
  const patience = timers
    .sleep(Math.min(drainTimeoutMs, deadline.remainingMs()), AbortSignal.any([deadline.signal, ended.signal]))
    .catch(() => {}) // Quiet before its time, or the deadline was brought forward: either way it is over.
  await Promise.race([drained, patience])
  ended.abort()
  deliveries.cutOff()
  // Nothing is finished under a listener that still runs: who stops has to wait for it, or name it (I18).
  await Promise.race([drained, aborted(deadline.signal)])
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
