import type { Inbox } from '@waybill/core'
import { createMemoryIdempotencyStore } from '@waybill/core/idempotency'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { refusalsOf, resolved } from './test-binding.ts'

const store = createMemoryIdempotencyStore()
const inbox: Inbox<undefined> = { run: async () => 'DUPLICATE' }
const key = (): string => 'key'

describe('deduplicate', () => {
  test('is off unless asked for', () => expect(resolved().deduplicate).toBeUndefined())

  test('takes a store or an inbox, and a key', () => {
    expect(resolved({ deduplicate: { store } }).deduplicate).toEqual({ store, inbox: undefined, key: undefined })
    expect(resolved({ deduplicate: { inbox, key } }).deduplicate).toEqual({ store: undefined, inbox, key })
  })

  test.each<[string, object, string]>([
    ['neither', {}, 'deduplicate needs a store, which writes marks after the effect, or an inbox'],
    ['both', { store, inbox }, 'deduplicate has a store and an inbox'],
    ['half a store', { store: { seen: async () => true } }, 'deduplicate.store must be an IdempotencyStore'],
    ['an inbox that is none', { inbox: {} }, 'deduplicate.inbox must be an Inbox'],
    [
      'an async key',
      { store, key: async () => 'key' },
      'deduplicate.key must be EVENT_ID, or a function that is not async',
    ],
    ['an inbox in place of the object', inbox, 'deduplicate is an Inbox; write { inbox: … }'],
    ['a store in its place', store, 'deduplicate is an IdempotencyStore; write { store: … }'],
    ['something unknown', { store, ttlMs: 1 }, 'deduplicate.ttlMs is not an option'],
  ])('refuses %s', (_, deduplicate, problem) => {
    expect(refusalsOf({ deduplicate })).toEqual([expect.stringContaining(problem)])
  })

  test('refuses a word: what it means is known to configuration files alone', () => {
    const [problem] = refusalsOf({ deduplicate: 'IN_TRANSACTION' })
    expect(problem).toContain('must be an object with a store or an inbox')
  })

  test.each([{ store }, { inbox }])('refuses a second way beside the inbox of handleEvents', (deduplicate) => {
    const handler = handleEvents(orderEvents(), { 'order.placed': () => {} }, { inbox })
    expect(refusalsOf({ handler, deduplicate })).toEqual([
      expect.stringContaining('deduplicate conflicts with the inbox of handleEvents'),
    ])
  })

  test('refuses an inbox for a handler that takes many records, and takes a store', () => {
    const batchHandler = { handler: { handleBatch: () => {} }, listenerType: 'BATCH' } as const
    expect(refusalsOf({ ...batchHandler, deduplicate: { inbox } })).toEqual([
      expect.stringContaining('deduplicate.inbox does not go with a handler that has handleBatch'),
    ])
    expect(refusalsOf({ ...batchHandler, deduplicate: { store } })).toEqual([])
  })
})
