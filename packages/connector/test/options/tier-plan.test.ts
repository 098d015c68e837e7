import { describe, expect, test } from 'vitest'
import { resolved } from './test-binding.ts'

describe('the tiers of a binding', () => {
  test('have the defaults of their number where one is left out', () => {
    const tiers = [{}, { maxAttempts: 5 }, { topicSuffix: 'last', concurrency: 4 }] as never[]
    expect(resolved({ retry: { tiers } }).tiers).toEqual([
      {
        tier: 1,
        topic: 'orders.events.retry-1',
        groupId: 'billing-retry-1',
        delayMs: 10_000,
        maxAttempts: 3,
        concurrency: 1,
      },
      {
        tier: 2,
        topic: 'orders.events.retry-2',
        groupId: 'billing-retry-2',
        delayMs: 60_000,
        maxAttempts: 5,
        concurrency: 1,
      },
      {
        tier: 3,
        topic: 'orders.events.last',
        groupId: 'billing-retry-3',
        delayMs: 300_000,
        maxAttempts: 3,
        concurrency: 4,
      },
    ])
  })

  test('carry the group in their names when asked to', () => {
    const binding = resolved({ retryTopicNaming: 'PER_GROUP' })
    expect(binding.tiers.map(({ topic }) => topic)).toEqual([1, 2, 3].map((n) => `orders.events.billing.retry-${n}`))
    expect(binding.deadLetter.topic).toBe('orders.events.billing.DLT')
  })

  test('are places in the waiting topic with orderingMode KEY', () => {
    const binding = resolved({ orderingMode: 'KEY', parallelism: 'KEY' })
    expect(binding.waitingTopic).toBe('orders.events.billing.waiting')
    expect(binding.tiers.map(({ topic, groupId, delayMs }) => [topic, groupId, delayMs])).toEqual(
      [10_000, 60_000, 300_000].map((delayMs) => ['orders.events.billing.waiting', 'billing', delayMs]),
    )
  })

  test.each([
    { orderingMode: 'STRICT' },
    { failureProfile: 'BEST_EFFORT_SKIP' },
    { failureProfile: 'BLOCKING_UNLIMITED' },
    { orderingMode: 'STRICT', retry: { tiers: [] } },
    { retry: { tiers: [] } },
  ] as const)('are none with %o', (options) => {
    expect(resolved(options).tiers).toEqual([])
  })
})
