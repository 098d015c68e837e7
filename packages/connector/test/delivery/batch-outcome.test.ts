import { describe, expect, test } from 'vitest'
import { type BatchSettings, decideInBatch } from '../../src/delivery/batch-outcome.ts'
import type { Outcome } from '../../src/delivery/outcome.ts'

const failure = { error: new Error('no'), attempts: 3, atMs: 7 }
const retry: Outcome = { kind: 'RETRY', tier: 1, attempt: 1, failure }
const exhausted: Outcome = { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure }
const skipped: Outcome = { kind: 'SKIP', cause: 'BEST_EFFORT', failure }
const held: Outcome = { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' }
const redelivered: Outcome = { kind: 'PAUSE', cause: 'REDELIVERED', failure }

/** What no strategy changes: success, what can never succeed, and what nothing was decided about. */
const final: readonly Outcome[] = [
  { kind: 'DONE' },
  { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure },
  { kind: 'SKIP', cause: 'UNHANDLED', failure: undefined },
  { kind: 'PAUSE', cause: 'BREAKER', failure },
  { kind: 'PAUSE', cause: 'CANCELLED', failure: undefined },
  { kind: 'PAUSE', cause: 'BLOCKED', failure },
  { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'BINDING' },
]

const settings = (batchFailureStrategy: BatchSettings['batchFailureStrategy']): BatchSettings => ({
  batchFailureStrategy,
  batchMaxRedeliveries: 3,
})

describe('PartialBatchFailure: a record of a batch that failed', () => {
  test.each([retry, exhausted, skipped, held])(
    'C-05 is redelivered with SEEK_TO_FAILED below the limit, and then has the outcome it has alone',
    (outcome) => {
      const decide = (deliveries: number): Outcome => decideInBatch(outcome, deliveries, settings('SEEK_TO_FAILED'))
      expect([decide(1), decide(2), decide(3), decide(4)]).toEqual([redelivered, redelivered, outcome, outcome])
    },
  )

  test('S0-093 goes to the dead letters with DLQ_AND_CONTINUE, whatever tiers there are', () => {
    expect(decideInBatch(retry, 1, settings('DLQ_AND_CONTINUE'))).toEqual(exhausted)
    expect(decideInBatch(exhausted, 1, settings('DLQ_AND_CONTINUE'))).toEqual(exhausted)
  })

  test('C-77 goes where its classifier says with TIER_AND_CONTINUE', () => {
    expect(decideInBatch(retry, 1, settings('TIER_AND_CONTINUE'))).toBe(retry)
    expect(decideInBatch(exhausted, 1, settings('TIER_AND_CONTINUE'))).toBe(exhausted)
  })

  test.each(['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'] as const)(
    'C-06 that cannot succeed, or that nothing is known of, is not changed by %s',
    (strategy) => {
      for (const outcome of final) expect(decideInBatch(outcome, 1, settings(strategy))).toBe(outcome)
    },
  )
})
