/**
 * Retries in memory hold up the poll loop, and a consumer that does not poll in time loses its partitions. Both guards
 * keep retries within a part of the poll interval, seven tenths by default: one at start-up, by
 * arithmetic on the options, and one while running, which also sees how long handlers really take.
 */

import { nominalBackoffMs } from './backoff.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** The input of {@link planRetryBudget}. */
export interface RetryBudgetInput {
  /** With a finite number of attempts: retrying without end waits outside the poll loop and is exempt. */
  readonly policy: RetryPolicy
  readonly maxPollRecords: number
  readonly maxPollIntervalMs: number
  /** @defaultValue 0.7 */
  readonly pollIntervalSafetyThreshold?: number
  /** How long one attempt usually takes, where known. It can raise a warning, never a violation. */
  readonly expectedHandlerMs?: number | undefined
}

/** Whether the retries of a full poll fit into the poll interval, with the arithmetic. */
export interface RetryBudgetPlan {
  /** All backoffs of one record: one less than it has attempts, capped, without jitter. */
  readonly totalRetryTimeMs: number
  /** The same for every record of a full poll. */
  readonly neededMs: number
  /** The bound that `neededMs` must stay below. */
  readonly limitMs: number
  readonly fits: boolean
  /** The sum as an operator would do it by hand. */
  readonly arithmetic: string
  /** Set when the handlers' own expected time would break the limit. */
  readonly warning: string | undefined
}

/** The part of the poll interval that handlers and their retries may fill; the rest is for what is slower than usual. */
export const defaultSafetyThreshold = 0.7

/** The part of the poll interval that work may fill, computed in thousandths so that whole numbers stay exact. */
export function pollTimeLimitMs(maxPollIntervalMs: number, threshold: number = defaultSafetyThreshold): number {
  return (maxPollIntervalMs * Math.round(threshold * 1_000)) / 1_000
}

/** Checks `totalRetryTime * maxPollRecords < maxPollIntervalMs * 0.7` (strictly below). */
export function planRetryBudget(input: RetryBudgetInput): RetryBudgetPlan {
  const { policy, maxPollRecords, maxPollIntervalMs, expectedHandlerMs = 0 } = input
  const { pollIntervalSafetyThreshold: threshold = defaultSafetyThreshold } = input
  const waits = Array.from({ length: policy.maxAttempts - 1 }, (_, index) =>
    nominalBackoffMs(policy.backoff, index + 1),
  )
  const totalRetryTimeMs = waits.reduce((sum, wait) => sum + wait, 0)
  const neededMs = totalRetryTimeMs * maxPollRecords
  const limitMs = pollTimeLimitMs(maxPollIntervalMs, threshold)
  const fits = neededMs < limitMs
  const limitText = `${threshold} x ${maxPollIntervalMs} ms of maxPollIntervalMs = ${show(limitMs)} ms`
  const waitsText = `${waits.length} waits between ${policy.maxAttempts} attempts: ${sumText(waits)}`

  const handlingMs = expectedHandlerMs * policy.maxAttempts * maxPollRecords
  const handlingText = `${expectedHandlerMs} ms x ${policy.maxAttempts} attempts x ${maxPollRecords} records`
  const isHandlingTooSlow = expectedHandlerMs > 0 && handlingMs + neededMs >= limitMs
  return {
    totalRetryTimeMs,
    neededMs,
    limitMs,
    fits,
    arithmetic:
      `${waitsText} = ${show(totalRetryTimeMs)} ms; x ${maxPollRecords} records a poll = ${show(neededMs)} ms, ` +
      `which ${fits ? 'is below' : 'must be below'} ${limitText}`,
    warning: isHandlingTooSlow
      ? `if all attempts of a full poll fail, they take ${handlingText} = ${show(handlingMs)} ms, ` +
        `plus ${show(neededMs)} ms of waits: not below ${limitText}; the last records would lose their retries`
      : undefined,
  }
}

/** The input of {@link retryBudgetMs}. */
export interface RetryBudgetNow {
  /** The time a binding allows one record, handler time included; infinite without a bound. */
  readonly configuredMs: number
  readonly maxPollIntervalMs: number
  /** @defaultValue 0.7 */
  readonly pollIntervalSafetyThreshold?: number
  /** Since the records of this poll were handed over. */
  readonly elapsedMs: number
}

/** How long retrying a record may take now: `min(configured, maxPollIntervalMs * 0.7 - elapsed)`, never below zero. */
export function retryBudgetMs(now: RetryBudgetNow): number {
  const { configuredMs, maxPollIntervalMs, pollIntervalSafetyThreshold, elapsedMs } = now
  return Math.max(
    0,
    Math.min(configuredMs, pollTimeLimitMs(maxPollIntervalMs, pollIntervalSafetyThreshold) - elapsedMs),
  )
}

/** Terms beyond these say nothing new: the waits have reached their cap by then, or the reader has lost patience. */
const shownTerms = 6

function sumText(waits: readonly number[]): string {
  const terms = waits.map(show)
  if (terms.length > shownTerms) terms.splice(shownTerms - 1, terms.length - shownTerms, '…')
  return terms.length === 0 ? '0' : terms.join(' + ')
}

/** Fractions come from multipliers such as 1.1; their tails of binary dust are left out. */
function show(ms: number): string {
  return String(Number(ms.toFixed(2)))
}
