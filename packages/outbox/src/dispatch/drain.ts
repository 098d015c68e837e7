import type { Timers } from '@waybill/core'
import type { Deadline } from '@waybill/core/internal'
import { untilDeadline } from '../loops/until-deadline.ts'

/** Deliveries that can be drained. */
export interface Draining {
  /** Resolves when nothing is queued, running or settling. */
  quiet(): Promise<void>
  /** Starts nothing more and aborts running listeners. */
  cutOff(): void
}

/** Lets deliveries finish for a while, then aborts the rest early enough for them to end before the deadline. */
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
    .catch(() => {}) // Drained early, or the deadline was moved forward.
  await Promise.race([drained, patience])
  ended.abort()
  deliveries.cutOff()
  // A running listener may still have effects, so stop() has to wait for it or name it (I18).
  await untilDeadline(drained, deadline)
}

/**
 * The upper bound of the time reserved for aborted listeners and their statements; otherwise a quarter of what remains.
 */
const longestEndMs = 2_000

/**
 * Returns how long deliveries may finish by themselves. Aborting at the deadline itself would leave no time to react.
 */
function patienceMs(drainTimeoutMs: number, remainingMs: number): number {
  return Math.min(drainTimeoutMs, remainingMs - Math.min(remainingMs / 4, longestEndMs))
}
