import { noopLogger } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { bindingOf, refusalsOf, resolved } from './test-binding.ts'

const batchHandler = { handleBatch: () => {} }

function warningsOf(options: object): string[] {
  const found: string[] = []
  const logger = { ...noopLogger, warn: (_fields: object, text: string) => void found.push(text) }
  resolveBinding('orders', { ...bindingOf(), ...options }, logger)
  return found
}

describe('a binding with listenerType BATCH', () => {
  test('S0-015 S0-023 has polls of 200, seeks to what failed, and delivers it three times', () => {
    expect(resolved({ listenerType: 'BATCH' })).toMatchObject({
      listenerType: 'BATCH',
      maxPollRecords: 200,
      batchFailureStrategy: 'SEEK_TO_FAILED',
      batchMaxRedeliveries: 3,
    })
    expect(resolved({ listenerType: 'BATCH', maxPollRecords: 7 }).maxPollRecords).toBe(7)
    expect(resolved({ listenerType: 'BATCH', preset: 'FANOUT' }).maxPollRecords).toBe(500)
    expect(resolved({}).maxPollRecords).toBe(50)
  })

  test.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)('S0-197 goes with ackMode %s', (ackMode) => {
    expect(refusalsOf({ listenerType: 'BATCH', ackMode })).toEqual([])
  })

  test.each(['KEY', 'UNORDERED'] as const)('is refused with parallelism %s', (parallelism) => {
    expect(refusalsOf({ listenerType: 'BATCH', parallelism })).toEqual([
      `parallelism must be PARTITION with listenerType BATCH, got ${parallelism}: a batch is handled in the order of its ` +
        'partition',
    ])
  })

  test('takes handlers of one record and of many', () => {
    expect(refusalsOf({ listenerType: 'BATCH' })).toEqual([])
    expect(refusalsOf({ listenerType: 'BATCH', handler: batchHandler })).toEqual([])
  })

  test('goes on without a failed record only where records may overtake each other', () => {
    const batch = { listenerType: 'BATCH' } as const
    for (const batchFailureStrategy of ['DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'] as const) {
      expect(refusalsOf({ ...batch, batchFailureStrategy })).toEqual([])
      expect(refusalsOf({ ...batch, batchFailureStrategy, orderingMode: 'STRICT' })).toHaveLength(1)
      expect(refusalsOf({ ...batch, batchFailureStrategy, failureProfile: 'BEST_EFFORT_SKIP' })).toHaveLength(1)
    }
    const noTiers = { ...batch, retry: { tiers: [] } }
    expect(refusalsOf({ ...noTiers, batchFailureStrategy: 'DLQ_AND_CONTINUE' })).toEqual([])
    expect(refusalsOf({ ...noTiers, batchFailureStrategy: 'TIER_AND_CONTINUE' })).toHaveLength(1)
  })

  test('counts its larger polls in the retry budget', () => {
    const tier0 = { maxAttempts: 2, initialBackoffMs: 2_100, maxBackoffMs: 2_100 }
    expect(refusalsOf({ retry: { tier0 } })).toEqual([])
    expect(refusalsOf({ retry: { tier0 }, listenerType: 'BATCH' })).toEqual([
      expect.stringContaining('x 200 records a poll = 420000 ms'),
    ])
  })
})

describe('a binding with listenerType SINGLE', () => {
  test('is refused with a handler that takes many records', () => {
    expect(refusalsOf({ handler: batchHandler })).toEqual([
      'listenerType must be BATCH with a handler that has handleBatch, got SINGLE',
    ])
  })

  test('is warned of batch options that have no effect', () => {
    expect(warningsOf({ batchMaxRedeliveries: 2, batchFailureStrategy: 'SEEK_TO_FAILED' })).toEqual([
      'batchFailureStrategy has no effect without listenerType BATCH',
      'batchMaxRedeliveries has no effect without listenerType BATCH',
    ])
    expect(
      warningsOf({ listenerType: 'BATCH', batchFailureStrategy: 'DLQ_AND_CONTINUE', batchMaxRedeliveries: 2 }),
    ).toEqual(['batchMaxRedeliveries has no effect without batchFailureStrategy SEEK_TO_FAILED'])
    expect(warningsOf({ listenerType: 'BATCH', batchMaxRedeliveries: 2 })).toEqual([])
  })
})
