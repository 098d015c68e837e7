import { type BackoffPolicy, backoffMs, type Runtime } from '@waybill/core'

/** Waits of 20 ms to 1 s: a leader is elected and a coordinator moves within the first few, and nobody storms. */
const policy: BackoffPolicy = { initialMs: 40, multiplier: 2, maxMs: 1_000, jitterExceedsMax: false }

/** How long to wait after so many failures in a row. */
export function retryWaitMs(failures: number, random: Runtime['random']): number {
  return backoffMs(policy, failures, random)
}
