/** The backoff between retries. Every retry delay of the client comes from here. */

import { backoffMs, type Random } from '@waybill/core/internal'

/** Leader elections and coordinator moves complete within the first few waits. */
const firstWaitMs = 40
/** Limits load on a cluster that is down, and notices within a second that it is back. */
const longestWaitMs = 1_000

/**
 * Returns the wait after `failures` consecutive failures: it doubles from `initialMs` up to one second, with jitter. An
 * `initialMs` above one second stays as it is.
 */
export function retryWaitMs(failures: number, random: Random, initialMs: number = firstWaitMs): number {
  const maxMs = Math.max(initialMs, longestWaitMs)
  return backoffMs({ initialMs, multiplier: 2, maxMs, jitterExceedsMax: false }, failures, random)
}
