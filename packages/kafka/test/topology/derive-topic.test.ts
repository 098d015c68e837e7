import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineTopology } from '../../src/topology/define-topology.ts'
import { deriveDeadLetterTopic, deriveTier, deriveWaiting } from '../../src/topology/derive-topic.ts'
import { planTopology } from '../../src/topology/plan-topology.ts'

const orders = { name: 'orders', partitions: 64 }

describe('derived topics', () => {
  test('have the names of the specification, or those of one group', () => {
    expect(deriveTier(orders, 2, 5_000).name).toBe('orders.retry-2')
    expect(deriveTier(orders, 2, 5_000, { groupId: 'billing' }).name).toBe('orders.billing.retry-2')
    expect(deriveDeadLetterTopic(orders).name).toBe('orders.DLT')
    expect(deriveDeadLetterTopic(orders, { groupId: 'billing' }).name).toBe('orders.billing.DLT')
    expect(deriveWaiting(orders, 'billing').name).toBe('orders.billing.waiting')
  })

  test('have a suffix, a name or a number of partitions of their own where one is given', () => {
    expect(deriveTier(orders, 2, 5_000, { topicSuffix: 'later' }).name).toBe('orders.later')
    expect(deriveTier(orders, 2, 5_000, { topicSuffix: 'later', groupId: 'billing' }).name).toBe('orders.billing.later')
    expect(deriveDeadLetterTopic(orders, { topicSuffix: 'failed' }).name).toBe('orders.failed')
    const shared = deriveDeadLetterTopic(orders, { name: 'dead_letters', groupId: 'billing', partitions: 32 })
    expect(shared).toMatchObject({ name: 'dead_letters', role: 'DLT', source: 'orders', partitions: 32 })
    expect(deriveTier(orders, 1, 1, { partitions: 3 }).partitions).toBe(3)
    expect(deriveTier(orders, 1, 1, { partitions: undefined }).partitions).toBe(8)
  })

  test.each([
    [1, 1, 1],
    [8, 8, 8],
    [64, 8, 64],
  ])('of %i partitions have %i, a waiting topic %i', (partitions, derived, waiting) => {
    const source = { name: 'orders', partitions }
    expect(deriveTier(source, 1, 1).partitions).toBe(derived)
    expect(deriveDeadLetterTopic(source).partitions).toBe(derived)
    expect(deriveWaiting(source, 'g').partitions).toBe(waiting)
  })

  test('keep their records forever and have room for more headers', () => {
    const source = { ...orders, configs: { 'max.message.bytes': 10_000 } }
    for (const { configs } of [deriveTier(source, 1, 1), deriveDeadLetterTopic(source), deriveWaiting(source, 'g')])
      expect(configs).toEqual({ 'cleanup.policy': 'delete', 'retention.ms': '-1', 'max.message.bytes': '75536' })
    expect(deriveTier(orders, 1, 1).configs?.['max.message.bytes']).toBe('1114124')
  })

  test('are as durable as their source', () => {
    const configs = { 'min.insync.replicas': 2, 'unclean.leader.election.enable': false, 'segment.ms': 5 }
    expect(deriveWaiting({ ...orders, configs }, 'g').configs).toMatchObject({
      'min.insync.replicas': '2',
      'unclean.leader.election.enable': 'false',
    })
    expect(deriveWaiting({ ...orders, configs }, 'g').configs).not.toHaveProperty(['segment.ms'])
  })

  test('are the same whether derived or left to the topology', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
        fc.option(fc.integer({ min: 1, max: 10_000_000 }), { nil: undefined }),
        (partitions, replication, maxBytes) => {
          const source = {
            name: 'orders',
            partitions,
            ...(replication === undefined ? {} : { replication }),
            ...(maxBytes === undefined ? {} : { configs: { 'max.message.bytes': maxBytes } }),
          }
          const derived = [deriveTier(source, 1, 5), deriveDeadLetterTopic(source), deriveWaiting(source, 'g')]
          const left = [
            { name: 'orders.retry-1', role: 'TIER', source: 'orders', delayMs: 5 },
            { name: 'orders.DLT', role: 'DLT', source: 'orders' },
            { name: 'orders.g.waiting', role: 'WAITING', source: 'orders' },
          ] as const
          expect(defineTopology({ topics: [source, ...derived] })).toEqual(
            defineTopology({ topics: [source, ...left] }),
          )
        },
      ),
    )
  })

  test('are safe as they are', () => {
    const topology = defineTopology({
      topics: [orders, deriveTier(orders, 1, 3_600_000), deriveDeadLetterTopic(orders), deriveWaiting(orders, 'g')],
    })
    expect(planTopology(topology, new Map()).steps.map(({ kind }) => kind)).toEqual(Array(4).fill('CREATE'))
  })
})
