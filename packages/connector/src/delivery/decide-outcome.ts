/** Decides about a record whose attempts in memory failed. Pure: no IO. */

import {
  CircuitOpenError,
  type ExceptionClassifier,
  type ExceptionRoutingDecision,
  nextTier,
  UnreachableError,
} from '@waybill/core'
import { type RetryCost, type RetryFailure } from '@waybill/core/internal'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Failure } from '../records/failure.ts'
import type { Outcome } from './outcome.ts'

/** The settings of a binding that the decision depends on. */
export type OutcomeSettings = Pick<
  ResolvedBinding,
  'failureProfile' | 'orderingMode' | 'strictExhaustion' | 'budgetExceededRouting' | 'tiers'
> & { readonly circuitBreaker: Pick<ResolvedBinding['circuitBreaker'], 'automaticPauseOnOpen'> }

/** The place of a delivery: tier 0 is the source; the attempt counts deliveries within the tier. */
export interface DeliveredAt {
  readonly tier: number
  readonly attempt: number
}

/** Returns the outcome of a failed delivery. */
export function decideOutcome(
  ended: RetryFailure & Pick<RetryCost, 'attempts'>,
  at: DeliveredAt,
  settings: OutcomeSettings,
  classify: ExceptionClassifier,
  nowMs: number,
): Outcome {
  const failure: Failure = { error: ended.error, attempts: ended.attempts, atMs: nowMs }
  switch (ended.outcome) {
    case 'CANCELLED':
      return { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined }
    case 'REFUSED':
      if (ended.error instanceof CircuitOpenError && settings.circuitBreaker.automaticPauseOnOpen)
        return { kind: 'PAUSE', cause: 'BREAKER', failure }
      return route(classify(ended.error, at.tier), failure, at, settings)
    case 'BUDGET_EXCEEDED':
      return outOfTime(failure, at, settings)
    case 'EXHAUSTED':
    case 'NOT_RETRYABLE':
      return route(classify(ended.error, at.tier), failure, at, settings)
    default:
      throw new UnreachableError(ended)
  }
}

/** Only records that leave tier 0 have a choice of routing; the other settings decide by themselves. */
function outOfTime(failure: Failure, at: DeliveredAt, settings: OutcomeSettings): Outcome {
  const { failureProfile, orderingMode, budgetExceededRouting } = settings
  const isTiered = failureProfile === 'TIERED' && orderingMode !== 'STRICT'
  return isTiered && budgetExceededRouting === 'DLT' ? exhausted(failure) : route(nextTier(), failure, at, settings)
}

function route(
  decision: ExceptionRoutingDecision,
  failure: Failure,
  at: DeliveredAt,
  settings: OutcomeSettings,
): Outcome {
  switch (decision.routing) {
    case 'PAUSE_CONTAINER':
      return { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'BINDING' }
    case 'DEAD_LETTER':
      return { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure }
    case 'NEXT_TIER':
      return retryLater(undefined, failure, at, settings)
    case 'SKIP_TO_TIER':
      return retryLater(decision.targetTier, failure, at, settings)
    default:
      throw new UnreachableError(decision.routing)
  }
}

/** Decides about a failure that a retry may fix. */
function retryLater(skipTo: number | undefined, failure: Failure, at: DeliveredAt, settings: OutcomeSettings): Outcome {
  switch (settings.failureProfile) {
    case 'BEST_EFFORT_SKIP':
      return { kind: 'SKIP', cause: 'BEST_EFFORT', failure }
    case 'BLOCKING_UNLIMITED':
      return { kind: 'PAUSE', cause: 'BLOCKED', failure }
    case 'TIERED':
      break
    default:
      throw new UnreachableError(settings.failureProfile)
  }
  if (settings.orderingMode !== 'STRICT') return nextDelivery(skipTo, failure, at, settings.tiers)
  return settings.strictExhaustion === 'DLT'
    ? exhausted(failure)
    : { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' }
}

/**
 * A record stays in its tier until its attempts there are used up, and only moves forward. A skip beyond the last tier
 * ends in the last tier, which has the longest delay.
 */
function nextDelivery(
  skipTo: number | undefined,
  failure: Failure,
  { tier, attempt }: DeliveredAt,
  tiers: OutcomeSettings['tiers'],
): Outcome {
  const target = skipTo === undefined ? 0 : Math.min(skipTo, tiers.length)
  if (target > tier) return { kind: 'RETRY', tier: target, attempt: 1, failure }
  const current = tiers[tier - 1]
  if (current !== undefined && attempt < current.maxAttempts)
    return { kind: 'RETRY', tier, attempt: attempt + 1, failure }
  return tier < tiers.length ? { kind: 'RETRY', tier: tier + 1, attempt: 1, failure } : exhausted(failure)
}

function exhausted(failure: Failure): Outcome {
  return { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure }
}
