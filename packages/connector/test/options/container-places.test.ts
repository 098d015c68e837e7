import { describe, expect, test } from 'vitest'
import { containerPlacesOf, hostWarning, staticMemberId } from '../../src/options/container-places.ts'
import { resolved } from './test-binding.ts'

describe('ContainerFactory: the containers of a binding', () => {
  test('are one for the source and one for each tier, each with a group of its own, and none for the dead letters', () => {
    const retry = { tiers: [{ delayMs: 5_000, concurrency: 2 }, { delayMs: 9_000 }] }
    expect(containerPlacesOf(resolved({ concurrency: 3, retry }))).toEqual([
      {
        name: 'eventbus-orders',
        topic: 'orders.events',
        groupId: 'billing',
        kind: 'SOURCE',
        tier: 0,
        delayMs: 0,
        concurrency: 3,
      },
      {
        name: 'eventbus-orders-retry-1',
        topic: 'orders.events.retry-1',
        groupId: 'billing-retry-1',
        kind: 'TIER',
        tier: 1,
        delayMs: 5_000,
        concurrency: 2,
      },
      {
        name: 'eventbus-orders-retry-2',
        topic: 'orders.events.retry-2',
        groupId: 'billing-retry-2',
        kind: 'TIER',
        tier: 2,
        delayMs: 9_000,
        concurrency: 1,
      },
    ])
  })

  test('are one alone with orderingMode KEY, which reads the waiting topic beside the source', () => {
    const places = containerPlacesOf(resolved({ orderingMode: 'KEY', parallelism: 'KEY' }))
    expect(places.map(({ name }) => name)).toEqual(['eventbus-orders'])
  })
})

describe('the id of a static member', () => {
  test('is made of binding, host and index', () => {
    expect(staticMemberId(resolved({ staticMembership: true }), 'node-7', 2)).toBe('orders-node-7-2')
  })

  test('has the instance id in place of the host where there is one', () => {
    const binding = resolved({ staticMembership: true, instanceId: 'shop-0' })
    expect(staticMemberId(binding, 'node-7', 0)).toBe('orders-shop-0-0')
  })

  test('is none without static membership', () => {
    expect(staticMemberId(resolved({ instanceId: 'shop-0' }), 'node-7', 0)).toBeUndefined()
  })
})

describe('a host that static members are called after', () => {
  const binding = resolved({ staticMembership: true })

  test.each(['shop-6d4cf56db6-x7k2p', 'order-service-7f9c8b5d4f-2xzqk', '3f2a9c0b1d4e'])(
    'is doubted when it is generated: %s',
    (host) => {
      expect(hostWarning(binding, host)).toContain(host)
      expect(hostWarning({ ...binding, instanceId: 'shop-0' }, host)).toBeUndefined()
      expect(hostWarning({ ...binding, staticMembership: false }, host)).toBeUndefined()
    },
  )

  test.each(['shop-0', 'node-7.example.org', 'localhost', 'order-service-1'])('is taken when it stays: %s', (host) => {
    expect(hostWarning(binding, host)).toBeUndefined()
  })
})
