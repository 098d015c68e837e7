/** Checks whether a call may still start its handler, or is still in time. */

import type { RecordContext } from './delivery-context.ts'
import { notStarted } from './prepared.ts'

/**
 * Throws when a call may not start its handler any more, because preparing it took time: a cancelled call starts nothing
 * (I3), nor does one that an operator paused in the meantime (I15). Other pauses do not concern a call that was admitted: the
 * breaker pauses for other records while this one probes.
 */
export function requireStart(context: Pick<RecordContext<unknown>, 'signal' | 'retrying'>): void {
  requireTime(context)
  if (context.retrying.aborted) throw notStarted
}

/**
 * Throws when the call is out of time: it counts as failed, and its record is delivered again. A handler may stop at its
 * signal and return without its effect; with a mark that record would be lost.
 */
export function requireTime({ signal }: { readonly signal: AbortSignal }): void {
  signal.throwIfAborted()
}
