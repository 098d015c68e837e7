import { ArgumentError, describeThrown, NonRetryableError } from '@waybill/core'
import { anyErrorPredicate, failureKindOf, type Random } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'
import { UnroutableEventError } from '../api/outbox-errors.ts'
import { storableError } from '../api/row-limits.ts'
import type { UnroutablePolicy } from '../options/outbox-options.ts'
import type { OutboxRetry } from '../options/outbox-retry.ts'
import type { Outcome } from './row-outcome.ts'

export interface FailureRules {
  readonly retry: OutboxRetry
  readonly unroutable: UnroutablePolicy
}

/** The class, and its code for a second copy of the package. */
const cannotHelp = anyErrorPredicate([NonRetryableError, NonRetryableError.code])

/** RETRY while attempts are left and trying again can help, else DEAD (S1-069, S1-072, S1-073). */
export function outcomeOfFailure(
  error: unknown,
  attemptsBefore: number,
  { retry, unroutable }: FailureRules,
  random: Random,
): Outcome {
  const text = errorText(error)
  const isUnroutable = error instanceof UnroutableEventError
  const isDead = isUnroutable ? unroutable === 'DEAD' : cannotHelp(error)
  if (isDead) return { kind: 'DEAD', error: text, isByEvent: true }
  const plan = retry.plan({ error, attempt: attemptsBefore + 1 }, random)
  const outcome = plan.kind === 'DEAD' ? { kind: plan.kind, error: text } : retryIn(plan.delayMs, text)
  const isPermanent = plan.kind === 'DEAD' ? plan.isPermanent : undefined
  return isUnroutable || (isPermanent ?? failureKindOf(error) === 'PERMANENT')
    ? { ...outcome, isByEvent: true }
    : outcome
}

/**
 * The decision itself failed: the policy threw, or what the listener threw cannot even be looked at. The event is tried
 * again, a while later and however often it was tried.
 */
export function outcomeOfUndecided(error: unknown): Outcome {
  return retryIn(undecidedDelayMs, errorText(error))
}

/** The listener asked for a later time. However many attempts it had, it is not DEAD by this. */
export function outcomeOfRetryAfter(retryAfterMs: number): Outcome {
  return { ...retryIn(retryAfterMs, `The listener asked for ${retryAfterMs} ms more.`), isByEvent: true }
}

/** A minute is the longest delay of the default policy. */
const undecidedDelayMs = 60_000

/**
 * Every database reaches this far, about a hundred years. One row whose time it cannot compute would fail the statement of
 * all the rows around it, for ever.
 */
const longestDelayMs = 3_000_000_000_000

function retryIn(delayMs: number, error: string): Outcome & { readonly kind: 'RETRY' } {
  if (!(delayMs >= 0)) throw new ArgumentError(`A delay is 0 ms or more, not ${showValue(delayMs)}.`)
  return { kind: 'RETRY', delayMs: Math.round(Math.min(delayMs, longestDelayMs)), error }
}

/** What is kept in `last_error`, and told. */
export function errorText(error: unknown): string {
  return storableError(describeThrown(error))
}
