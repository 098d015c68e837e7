import { expect, test } from 'vitest'
import type { ResolvedBinding } from '../../src/binding/resolved-binding.ts'
import { findClashes } from '../../src/options/binding-clashes.ts'
import { partsOf } from '../../src/options/binding-options.ts'
import { resolved } from './test-binding.ts'

function clashesOf(...bindings: readonly ResolvedBinding[]): string[] {
  const found: string[] = []
  findClashes(bindings, (binding, option, problem) => found.push(`${binding}.${option} ${problem}`))
  return found
}

const keyed = { orderingMode: 'KEY', parallelism: 'KEY' } as const

test('the same topic and group twice is refused once', () => {
  expect(clashesOf(resolved({}, 'a'), resolved({}, 'b'))).toEqual([
    'b.groupId billing already reads orders.events for a: each would receive only some of the partitions; ' +
      'use another groupId, or raise concurrency',
  ])
})

test('two groups that derive the same topics are refused, with the way out', () => {
  const clashes = clashesOf(resolved({}, 'a'), resolved({ groupId: 'shipping' }, 'b'))
  expect(clashes).toEqual([
    'b.retryTopicNaming derives orders.events.retry-1, orders.events.retry-2, orders.events.retry-3, orders.events.DLT ' +
      'for the group shipping, as a does for billing: each would read the failures of the other; ' +
      'set PER_GROUP, which adds the group to the name, or set different dlt.topic names',
  ])
  const named = resolved({ groupId: 'shipping', retryTopicNaming: 'PER_GROUP' }, 'b')
  expect(clashesOf(resolved({}, 'a'), named)).toEqual([])
})

test('two groups with orderingMode KEY share nothing but the dead letters', () => {
  const clashes = clashesOf(resolved(keyed, 'a'), resolved({ ...keyed, groupId: 'shipping' }, 'b'))
  expect(clashes).toEqual([expect.stringMatching(/^b\.retryTopicNaming derives orders\.events\.DLT /)])
})

test('names that meet although the topics differ are refused', () => {
  const one = resolved({ topic: 'a', dlt: { topicSuffix: 'b.DLT' } }, 'one')
  expect(clashesOf(one, resolved({ topic: 'a.b' }, 'two'))).toEqual([
    expect.stringMatching(/^two\.retryTopicNaming derives a\.b\.DLT for the group billing/),
  ])
})

test('a dead letter topic with a name of its own is shared on purpose', () => {
  const chat = resolved({ preset: 'FANOUT', topic: 'chats.created', groupId: 'one' }, 'chat')
  const member = resolved({ preset: 'FANOUT', topic: 'memberships.changed', groupId: 'two' }, 'member')
  expect(clashesOf(chat, member)).toEqual([])
})

test('the topics of one binding share a dead letter topic, whatever it is called', () => {
  const binding = resolved({ topic: ['orders', 'bills'], dlt: { topic: 'orders.failures' } }, 'one')
  expect(clashesOf(...partsOf(binding))).toEqual([])
})

test('on different clusters nothing meets', () => {
  expect(clashesOf(resolved({}, 'a'), resolved({ cluster: 'eu' }, 'b'))).toEqual([])
})

test('dead letters may be read by a binding, what waits for its retry may not', () => {
  const orders = resolved({}, 'orders')
  expect(clashesOf(orders, resolved({ topic: 'orders.events.DLT', groupId: 'care' }, 'care'))).toEqual([])
  expect(clashesOf(orders, resolved({ topic: 'orders.events.retry-2', groupId: 'care' }, 'care'))).toEqual([
    'care.topic orders.events.retry-2 contains records of orders that wait for their retry',
  ])
  const waiting = resolved({ topic: 'orders.events.billing.waiting', groupId: 'care' }, 'care')
  expect(clashesOf(resolved(keyed, 'orders'), waiting)).toEqual([expect.stringMatching(/^care\.topic /)])
})
