import { expect, test } from 'vitest'
import { deadLetterTopic, tierGroupId, tierTopic, waitingTopic } from '../../src/options/topic-names.ts'

const names = { topic: 'orders.events', groupId: 'billing' }

test('tiers and dead letters are called after the topic', () => {
  const naming = { ...names, retryTopicNaming: 'PER_TOPIC' } as const
  expect([1, 2, 3].map((tier) => tierTopic(naming, tier))).toEqual([
    'orders.events.retry-1',
    'orders.events.retry-2',
    'orders.events.retry-3',
  ])
  expect(tierTopic(naming, 1, 'later')).toBe('orders.events.later')
  expect(deadLetterTopic(naming, 'DLT')).toBe('orders.events.DLT')
})

test('or after topic and group', () => {
  const naming = { ...names, retryTopicNaming: 'PER_GROUP' } as const
  expect(tierTopic(naming, 1)).toBe('orders.events.billing.retry-1')
  expect(deadLetterTopic(naming, 'DLT')).toBe('orders.events.billing.DLT')
})

test('the waiting topic is always the own one of a group', () => {
  expect(waitingTopic(names)).toBe('orders.events.billing.waiting')
})

test('each tier is read by a group of its own', () => {
  expect(tierGroupId('billing', 2)).toBe('billing-retry-2')
})
