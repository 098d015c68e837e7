import {
  CircuitOpenError,
  deadLetter,
  type ExceptionRoutingDecision,
  nextTier,
  pauseContainer,
  RetryBudgetExceededError,
  skipToTier,
} from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { decideOutcome, type OutcomeSettings } from '../../src/delivery/decide-outcome.ts'
import type { Outcome } from '../../src/delivery/outcome.ts'

const nowMs = 1_000
const error = new Error('no')
const failure = { error, attempts: 3, atMs: nowMs }

const tier = (number: number, maxAttempts = 3) => ({
  tier: number,
  topic: `t.retry-${number}`,
  groupId: `g-retry-${number}`,
  delayMs: number * 1_000,
  maxAttempts,
  concurrency: 1,
})

const settings = (changed: Partial<OutcomeSettings> = {}): OutcomeSettings => ({
  failureProfile: 'TIERED',
  orderingMode: 'RELAXED_IN_RETRY',
  strictExhaustion: 'DLT',
  budgetExceededRouting: 'DLT',
  tiers: [tier(1), tier(2), tier(3)],
  circuitBreaker: { automaticPauseOnOpen: true },
  ...changed,
})

const extended = (): ExceptionRoutingDecision => skipToTier(2)
const never = (): ExceptionRoutingDecision => {
  throw new Error('asked')
}

function decide(
  decision: ExceptionRoutingDecision,
  at = { tier: 0, attempt: 1 },
  changed: Partial<OutcomeSettings> = {},
): Outcome {
  return decideOutcome({ outcome: 'EXHAUSTED', error, attempts: 3 }, at, settings(changed), () => decision, nowMs)
}

const retryAt = (number: number, attempt: number): Outcome => ({ kind: 'RETRY', tier: number, attempt, failure })
const exhausted: Outcome = { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure }

describe('a record whose attempts in memory are used up', () => {
  test('goes through every tier, each as often as it allows, and then to the dead letter topic', () => {
    const seen: string[] = []
    let at = { tier: 0, attempt: 1 }
    for (;;) {
      const outcome = decide(nextTier(), at)
      if (outcome.kind !== 'RETRY') {
        expect(outcome).toEqual(exhausted)
        break
      }
      at = { tier: outcome.tier, attempt: outcome.attempt }
      seen.push(`${at.tier}/${at.attempt}`)
    }
    expect(seen).toEqual(['1/1', '1/2', '1/3', '2/1', '2/2', '2/3', '3/1', '3/2', '3/3'])
  })

  test.each([
    { from: 0, target: 2, gives: retryAt(2, 1) },
    { from: 1, target: 3, gives: retryAt(3, 1) },
    // Beyond the last tier: the last one waits longest.
    { from: 0, target: 9, gives: retryAt(3, 1) },
    // Backwards or in place is no skip.
    { from: 3, target: 9, gives: retryAt(3, 2) },
  ])('skips from tier $from to $target', ({ from, target, gives }) => {
    expect(decide(skipToTier(target), { tier: from, attempt: 1 })).toEqual(gives)
  })

  test('goes straight to the dead letter topic where there are no tiers', () => {
    expect(decide(nextTier(), undefined, { tiers: [] })).toEqual(exhausted)
    expect(decide(skipToTier(2), undefined, { tiers: [] })).toEqual(exhausted)
  })

  test('is a dead letter at once when its error is final, whatever the profile', () => {
    const dead: Outcome = { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure }
    for (const failureProfile of ['TIERED', 'BEST_EFFORT_SKIP', 'BLOCKING_UNLIMITED'] as const)
      expect(decide(deadLetter(), undefined, { failureProfile })).toEqual(dead)
    expect(decide(deadLetter(), undefined, { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' })).toEqual(
      dead,
    )
  })

  test('stops the binding when the classifier says so', () => {
    expect(decide(pauseContainer())).toEqual({ kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'BINDING' })
  })

  test('is skipped and audited with BEST_EFFORT_SKIP', () => {
    expect(decide(nextTier(), undefined, { failureProfile: 'BEST_EFFORT_SKIP' })).toEqual({
      kind: 'SKIP',
      cause: 'BEST_EFFORT',
      failure,
    })
  })

  test('waits in its place with BLOCKING_UNLIMITED', () => {
    expect(decide(skipToTier(2), undefined, { failureProfile: 'BLOCKING_UNLIMITED' })).toEqual({
      kind: 'PAUSE',
      cause: 'BLOCKED',
      failure,
    })
  })

  test('is a dead letter or stops its partition with STRICT', () => {
    expect(decide(nextTier(), undefined, { orderingMode: 'STRICT' })).toEqual(exhausted)
    expect(decide(nextTier(), undefined, { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' })).toEqual({
      kind: 'PAUSE',
      cause: 'EXHAUSTED',
      failure,
      scope: 'PARTITION',
    })
  })
})

describe('a delivery that ends before its attempts are used up', () => {
  const at = { tier: 0, attempt: 1 }
  const open = new CircuitOpenError('orders', 'OPEN')

  test('by cancellation decides nothing about the record', () => {
    const cancelled = { outcome: 'CANCELLED', error, attempts: 1 } as const
    expect(decideOutcome(cancelled, at, settings(), () => deadLetter(), nowMs)).toEqual({
      kind: 'PAUSE',
      cause: 'CANCELLED',
      failure: undefined,
    })
  })

  test('by an open circuit pauses, or goes on to a later tier where the binding is not to be paused', () => {
    const refused = { outcome: 'REFUSED', error: open, attempts: 0 } as const
    expect(decideOutcome(refused, at, settings(), extended, nowMs)).toMatchObject({ kind: 'PAUSE', cause: 'BREAKER' })
    const unpaused = settings({ circuitBreaker: { automaticPauseOnOpen: false } })
    expect(decideOutcome(refused, at, unpaused, extended, nowMs)).toMatchObject({ kind: 'RETRY', tier: 2, attempt: 1 })
  })

  test('by its retry budget is a dead letter, or goes to the next tier where that is asked for', () => {
    const budget = new RetryBudgetExceededError(1, 500, 400, error)
    const over = { outcome: 'BUDGET_EXCEEDED', error: budget, attempts: 1 } as const
    expect(decideOutcome(over, at, settings(), never, nowMs)).toMatchObject({
      kind: 'DEAD_LETTER',
      reason: 'RETRIES_EXHAUSTED',
      failure: { error: budget },
    })
    expect(decideOutcome(over, at, settings({ budgetExceededRouting: 'NEXT_TIER' }), never, nowMs)).toMatchObject({
      kind: 'RETRY',
      tier: 1,
      attempt: 1,
    })
  })

  test('by its retry budget is skipped with BEST_EFFORT_SKIP, and stops its partition where STRICT is to', () => {
    const budget = new RetryBudgetExceededError(1, 500, 400, error)
    const over = { outcome: 'BUDGET_EXCEEDED', error: budget, attempts: 1 } as const
    const end = (changed: Partial<OutcomeSettings>): Outcome =>
      decideOutcome(over, at, settings({ tiers: [], ...changed }), () => nextTier(), nowMs)
    expect(end({ failureProfile: 'BEST_EFFORT_SKIP' })).toMatchObject({ kind: 'SKIP', cause: 'BEST_EFFORT' })
    expect(end({ orderingMode: 'STRICT' })).toMatchObject({ kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED' })
    expect(end({ orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' })).toMatchObject({
      kind: 'PAUSE',
      cause: 'EXHAUSTED',
      scope: 'PARTITION',
    })
  })
})
