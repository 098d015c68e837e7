import { defineEvents } from '@waybill/core'
import { createMemoryIdempotencyStore } from '@waybill/core/idempotency'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { lagOf } from '../../src/operations/lag-of.ts'
import { resolved } from '../options/test-binding.ts'
import { connectorWorld } from '../support/connector-world.ts'

const isBusy = (): boolean => true
const filter = (): boolean => true
const held = { topic: 'orders', groupId: 'shipping', handler: () => {} }

describe('S0-065 the options in effect', () => {
  test('are those of the binding with every default, as data', () => {
    const { effective } = resolved({
      topic: ['orders', 'returns'],
      concurrency: 3,
      retry: { tier0: { maxAttempts: 5 } },
    })
    expect(effective).toMatchObject({
      topic: ['orders', 'returns'],
      groupId: 'billing',
      concurrency: 3,
      ackMode: 'MANUAL_IMMEDIATE',
      orderingMode: 'RELAXED_IN_RETRY',
      transactional: false,
      retry: {
        tier0: { maxAttempts: 5, initialBackoffMs: 100, multiplier: 2, maxBackoffMs: 2_000 },
        tiers: [
          { delayMs: 10_000, maxAttempts: 3, concurrency: 1 },
          { delayMs: 60_000, maxAttempts: 3, concurrency: 1 },
          { delayMs: 300_000, maxAttempts: 3, concurrency: 1 },
        ],
      },
      dlt: { topicSuffix: 'DLT', strategy: 'STORE_ONLY', replay: { maxReplays: 3, target: 'ORIGINAL' } },
    })
    expect(JSON.parse(JSON.stringify(effective))).toEqual(effective)
  })

  test('are the settings that follow from others', () => {
    const given = {
      orderingMode: 'KEY',
      parallelism: 'KEY',
      retry: { tiers: [{ delayMs: 5, topicSuffix: 'soon' }] },
    } as const
    expect(resolved(given).effective).toMatchObject({
      retry: { tiers: [{ delayMs: 5, maxAttempts: 3, topicSuffix: 'soon', concurrency: 1 }] },
      dlt: { replay: { target: 'BINDING' } },
    })
    expect(resolved({ orderingMode: 'STRICT' }).effective).toMatchObject({ retry: { tiers: [] } })
  })

  test('show code by name and never print what it holds', () => {
    class RateLimitError extends Error {}
    const plain = resolved({
      topic: /^orders/,
      filter,
      decode: z.object({}) as never,
      deduplicate: { store: createMemoryIdempotencyStore() },
      retry: { retryableExceptions: ['ECONNRESET', RateLimitError, isBusy], skipToTierMapping: [[RateLimitError, 2]] },
      dlt: { strategy: 'ALERT_AND_STORE', alertHandler: { onDeadLetter: () => {} } },
    })
    expect(plain.effective).toMatchObject({
      topic: '/^orders/',
      handler: 'handler',
      filter: 'filter',
      decode: 'schema of zod',
      deduplicate: { store: expect.stringMatching(/./) },
      retry: {
        retryableExceptions: ['ECONNRESET', 'RateLimitError', 'isBusy'],
        skipToTierMapping: [['RateLimitError', 2]],
      },
      dlt: { alertHandler: 'object with onDeadLetter' },
    })
    const events = defineEvents({ placed: { topic: 't', schema: z.object({}), key: () => null } })
    expect(resolved({ handler: handleEvents(events, { placed: () => {} }) }).effective).toMatchObject({
      handler: 'handleEvents of placed',
    })
    const batch = resolved({ listenerType: 'BATCH', handler: { handleBatch: () => {} } })
    expect(batch.effective).toMatchObject({ handler: 'object with handleBatch', listenerType: 'BATCH' })
  })
})

describe('S0-183 a binding in detail', () => {
  test('has its options, and the lag of its source and its tiers in records', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders', { partitions: 2 })
      let isDown = true
      const handler = (_: unknown, { tier }: { readonly tier: number }): void => {
        if (isDown && tier === 0) throw new Error('down')
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 3_600_000 }] }
      const bus = connector({ bindings: { shipping: { ...held, handler, retry } } })
      expect(bus.admin.binding('shipping')).toMatchObject({ name: 'shipping', state: 'CREATED', lag: [] })
      await bus.start()
      await write('orders', ['a', 'b'], 1, () => 'o-1')
      await eventually(() => {
        expect(bus.admin.binding('shipping').lag).toEqual([
          { topic: 'orders', partition: 0, tier: 0, position: 0n, end: 0n, records: 0n },
          { topic: 'orders', partition: 1, tier: 0, position: 2n, end: 2n, records: 0n },
          { topic: 'orders.retry-1', partition: 0, tier: 1, position: 0n, end: 2n, records: 2n },
          { topic: 'orders.retry-1', partition: 1, tier: 1, position: 0n, end: 0n, records: 0n },
        ])
      })
      isDown = false
      await bus.pause('shipping')
      await write('orders', ['c', 'd', 'e'], 0)
      await eventually(() => {
        const [first] = bus.admin.binding('shipping').lag
        expect(first).toMatchObject({ position: 0n, end: 3n, records: 3n })
      })
      const detail = bus.admin.binding('shipping')
      expect(detail).toMatchObject({ state: 'PAUSED', options: { groupId: 'shipping', maxPollRecords: 50 } })
      expect(JSON.parse(JSON.stringify(detail))).toMatchObject({ lag: [{ end: '3', records: '3' }, {}, {}, {}] })
    }))

  test('has no negative lag where the position passed the end that was read, and none before it was read', () => {
    const place = {
      kind: 'SOURCE',
      tier: 0,
      name: 'eventbus-orders',
      topic: 'orders',
      groupId: 'g',
      concurrency: 1,
    } as const
    const partitions = [7n, 9n].map((watermark, partition) => ({ topic: 'orders', partition, watermark }))
    const containers = [{ place, pausedBy: [], members: [{ partitions }] }] as never
    const recordsOf = (end: bigint | undefined): unknown => lagOf(containers, () => end).map(({ records }) => records)
    expect(recordsOf(8n)).toEqual([1n, 0n])
    expect(recordsOf(undefined)).toEqual([undefined, undefined])
  })

  test('S0-068 is found by its topic, beside others that read it', () =>
    connectorWorld(async ({ connector }) => {
      const bus = connector({
        bindings: {
          shipping: { ...held, topic: ['orders', 'returns'] },
          billing: { ...held, groupId: 'billing', retryTopicNaming: 'PER_GROUP' },
        },
      })
      const namesOf = (topic: string): unknown => bus.admin.getByTopic(topic).map(({ name }) => name)
      expect(namesOf('orders')).toEqual(['shipping', 'billing'])
      expect(namesOf('returns')).toEqual(['shipping'])
      expect(namesOf('orders.DLT')).toEqual([])
    }))
})
