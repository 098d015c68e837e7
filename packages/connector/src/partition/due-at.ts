import type { Clock } from '@waybill/core'
import type { Work } from '../delivery/work.ts'

/**
 * A time of the wall clock by the monotonic one, which no correction moves. One further ahead than the delay, from a forged
 * header or another machine's fast clock, counts as that delay (I12, C-73).
 */
export function dueWithin(dueMs: number, delayMs: number, clock: Clock): number {
  return clock.monotonic() + Math.min(delayMs, Math.max(0, dueMs - clock.now()))
}

/** When a record of a tier may be delivered: one delay after it was published there. */
export function dueAtOf({ trail, record }: Pick<Work, 'trail' | 'record'>, delayMs: number, clock: Clock): number {
  const publishedAt = trail.retryTimestampMs ?? record.timestamp
  return dueWithin(publishedAt + delayMs, delayMs, clock)
}
