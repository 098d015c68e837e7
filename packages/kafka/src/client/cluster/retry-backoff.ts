/** How long the client waits before it asks again, whoever asks: every wait of its own making comes from here. */

import { backoffMs, type Random } from '@waybill/core/internal'

/** A leader is elected and a coordinator moves within the first few waits, of 20 ms and more. */
const firstWaitMs = 40
/** A cluster that is down is not stormed, and one that is back is noticed. */
const longestWaitMs = 1_000

/**
 * The wait after so many failures in a row: it doubles from `initialMs` up to a second, with jitter. A caller whose first
 * wait is longer than a second keeps that.
 */
export function retryWaitMs(failures: number, random: Random, initialMs: number = firstWaitMs): number {
  const maxMs = Math.max(initialMs, longestWaitMs)
  return backoffMs({ initialMs, multiplier: 2, maxMs, jitterExceedsMax: false }, failures, random)
}
