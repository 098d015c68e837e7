import type { Clock } from '@waybill/core'
import type { Work } from '../delivery/work.ts'

/**
 * Converts a wall clock time to the monotonic clock, which no correction moves. A time further ahead than the delay, from
 * a forged header or a fast clock, counts as the delay (I12).
 */
export function dueWithin(dueMs: number, delayMs: number, clock: Clock): number {
  return clock.monotonic() + Math.min(delayMs, Math.max(0, dueMs - clock.now()))
}

/** Returns the time at which a record of a tier is due: one delay after it was published there. */
export function dueAtOf({ trail, record }: Pick<Work, 'trail' | 'record'>, delayMs: number, clock: Clock): number {
  const publishedAt = trail.retryTimestampMs ?? record.timestamp
  return dueWithin(publishedAt + delayMs, delayMs, clock)
}
