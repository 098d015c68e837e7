import { ArgumentError, describeThrown, NonRetryableError } from '@waybill/core'
import { anyErrorPredicate, failureKindOf, type Random } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'
import { UnroutableEventError } from '../api/outbox-errors.ts'
import { storableError } from '../api/row-limits.ts'
import type { UnroutablePolicy } from '../options/outbox-options.ts'
import type { OutboxRetry } from '../options/outbox-retry.ts'
import { failureTypeOf } from './classify-failure.ts'
import type { Outcome } from './row-outcome.ts'

export interface FailureRules {
  readonly retry: OutboxRetry
  readonly unroutable: UnroutablePolicy
}

/** Matches the class, and its code for a second copy of the package. */
const cannotHelp = anyErrorPredicate([NonRetryableError, NonRetryableError.code])

/** Returns RETRY while attempts are left and a retry can succeed, else DEAD. */
export function outcomeOfFailure(
  error: unknown,
  attemptsBefore: number,
  { retry, unroutable }: FailureRules,
  random: Random,
): Outcome {
  const isUnroutable = error instanceof UnroutableEventError
  const failure = { error: errorText(error), failureType: isUnroutable ? 'SYSTEM' : failureTypeOf(error) } as const
  const isDead = isUnroutable ? unroutable === 'DEAD' : cannotHelp(error)
  if (isDead) return { kind: 'DEAD', ...failure, isByEvent: true }
  const plan = retry.plan({ error, attempt: attemptsBefore + 1 }, random)
  const outcome: Outcome =
    plan.kind === 'DEAD' ? { kind: plan.kind, ...failure } : { ...retryIn(plan.delayMs, failure.error), ...failure }
  const isPermanent = plan.kind === 'DEAD' ? plan.isPermanent : undefined
  return isUnroutable || (isPermanent ?? failureKindOf(error) === 'PERMANENT')
    ? { ...outcome, isByEvent: true }
    : outcome
}

/**
 * Returns the outcome if the decision itself failed: the policy threw, or the thrown value cannot be inspected. The
 * event is retried later, whatever its number of attempts.
 */
export function outcomeOfUndecided(error: unknown): Outcome {
  return { ...retryIn(undecidedDelayMs, errorText(error)), failureType: 'SYSTEM' }
}

/** Returns the outcome if the listener asked for a later time. It never makes the event DEAD, whatever its attempts. */
export function outcomeOfRetryAfter(retryAfterMs: number): Outcome {
  return { ...retryIn(retryAfterMs, `The listener asked for a retry in ${retryAfterMs} ms.`), isByEvent: true }
}

/**
 * Returns the outcome that defers a row without an attempt, because its destination is unavailable. For rows that a
 * query would otherwise return over and over (I23).
 */
export function outcomeOfWait(destination: string): Outcome {
  return { ...retryIn(waitDelayMs, `Waits for ${destination}, which is unavailable.`), isFree: true }
}

/** Half of the longest pause between two probes. */
const waitDelayMs = 15_000

/** One minute: the longest delay of the default policy. */
const undecidedDelayMs = 60_000

/**
 * About a hundred years, which every database can compute. A due time out of range would fail the statement of all rows
 * in its batch, permanently.
 */
const longestDelayMs = 3_000_000_000_000

function retryIn(delayMs: number, error: string): Outcome & { readonly kind: 'RETRY' } {
  if (!(delayMs >= 0)) throw new ArgumentError(`A delay must be 0 ms or more, got ${showValue(delayMs)}.`)
  return { kind: 'RETRY', delayMs: Math.round(Math.min(delayMs, longestDelayMs)), error }
}

/** Returns the text of an error for `last_error` and logs. */
export function errorText(error: unknown): string {
  return storableError(describeThrown(error))
}
