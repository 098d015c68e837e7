import { defineEvents } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { transactionProducerOptions } from '../../src/options/transaction-rules.ts'
import { transactionalIdOf } from '../../src/partition/transaction/transactional-id.ts'
import { refusalsOf, resolved } from './test-binding.ts'

const defaults = { maxRecords: 500, maxBytes: 8 * 1024 * 1024, maxRecordBytes: 1024 * 1024, timeoutMs: 30_000 }

describe('S0-149 the option transactional', () => {
  test('is off, on with its defaults, or on with what is given', () => {
    expect(resolved({}).transactional).toBe(false)
    expect(resolved({ transactional: false }).transactional).toBe(false)
    expect(resolved({ transactional: true }).transactional).toEqual(defaults)
    expect(resolved({ transactional: { maxRecords: 7 } }).transactional).toEqual({ ...defaults, maxRecords: 7 })
  })

  test('refuses what it cannot read', () => {
    expect(refusalsOf({ transactional: 'yes' })).toEqual(['transactional must be true, false or an object, got "yes"'])
    expect(refusalsOf({ transactional: { maxRecrds: 7 } })).toEqual([
      'transactional.maxRecrds is not an option; did you mean maxRecords?',
    ])
    expect(refusalsOf({ transactional: { timeoutMs: 10 } })).toHaveLength(1)
  })

  test('says why it does not go with other options', () => {
    expect(refusalsOf({ transactional: true, parallelism: 'KEY' })).toEqual([
      'parallelism must be PARTITION with transactional, got KEY: a transaction commits an offset and all below it',
    ])
    expect(refusalsOf({ transactional: true, parallelism: 'KEY', orderingMode: 'KEY' })).toEqual([
      'orderingMode must not be KEY with transactional: the waiting topic is never written in a transaction',
    ])
    expect(refusalsOf({ transactional: true, listenerType: 'BATCH' })).toEqual([
      expect.stringContaining('outputs of a batch call cannot be assigned to records'),
    ])
    expect(refusalsOf({ transactional: { maxRecords: 100 }, maxAhead: 99 })).toEqual([
      'transactional.maxRecords must be at most maxAhead, 99, got 100',
    ])
    for (const allowed of [
      { orderingMode: 'STRICT' },
      { failureProfile: 'BEST_EFFORT_SKIP' },
      { failureProfile: 'BLOCKING_UNLIMITED' },
      { ackMode: 'MANUAL' },
    ])
      expect(refusalsOf({ transactional: true, ...allowed })).toEqual([])
  })

  test('does not go with marks, which outlive a transaction that is aborted', () => {
    const inbox = { run: async () => 'DONE' as const }
    const events = defineEvents({ placed: { topic: 'orders', schema: z.object({}), key: () => null } })
    const handler = handleEvents(events, { placed: () => {} }, { inbox })
    expect(refusalsOf({ transactional: true, handler })).toEqual([
      expect.stringMatching(/^handler must not mark records/),
    ])
    expect(refusalsOf({ transactional: true, deduplicate: { inbox } })).toEqual([
      expect.stringMatching(/^deduplicate must not mark records/),
    ])
  })
})

test('a transaction is given up before its coordinator does so', () => {
  for (const timeoutMs of [1_000, 30_000, 900_000]) {
    const options = transactionProducerOptions({ ...defaults, timeoutMs })
    expect(options.transactionTimeoutMs).toBe(timeoutMs)
    expect(options.deliveryTimeoutMs).toBeLessThanOrEqual(timeoutMs / 2)
    expect(options.requestTimeoutMs).toBeLessThanOrEqual(options.deliveryTimeoutMs ?? 0)
    expect(options.unknownTopicWaitMs).toBeLessThan(options.deliveryTimeoutMs ?? 0)
  }
})

test('no two places have the same transactional id', () => {
  const ids = [
    transactionalIdOf('group', { topic: 'orders', partition: 1 }),
    transactionalIdOf('group', { topic: 'orders', partition: 11 }),
    transactionalIdOf('1:group', { topic: 'orders', partition: 1 }),
    transactionalIdOf('group', { topic: 'orders.1', partition: 1 }),
    transactionalIdOf('a:1:b', { topic: 'c', partition: 1 }),
    transactionalIdOf('b', { topic: 'c', partition: 1 }),
  ]
  expect(ids[0]).toBe('orders:1:group')
  expect(new Set(ids).size).toBe(ids.length)
})
