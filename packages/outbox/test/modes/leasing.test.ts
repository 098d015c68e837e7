import {
  ArgumentError,
  createEnvelope,
  createMemoryLogger,
  type EventEnvelope,
  NonRetryableError,
  OptionsError,
  type OutboxListener,
} from '@waybill/core'
import { type LeasingOptions, Outbox } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { MemoryOutbox, type MemoryTx } from '../support/memory-outbox.ts'
import { events } from '../support/outbox-harness.ts'

function setup() {
  const runtime = createVirtualRuntime(1, { logger: createMemoryLogger() })
  const table = new MemoryOutbox(runtime)
  const instance = (listener: OutboxListener, options: Partial<Omit<LeasingOptions<never, MemoryTx>, 'events'>> = {}) =>
    Outbox.leasing({
      events,
      database: table,
      store: table.store,
      listeners: { listenerFor: () => listener },
      runtime,
      purge: false,
      ...options,
    })
  return { runtime, table, instance }
}

function eventOf(key: string, index: number): EventEnvelope {
  return createEnvelope({ eventType: `${key}-${index}`, aggregateType: 'order', aggregateId: key, payloadJson: '{}' })
}

describe('the leasing pipeline', () => {
  test('S4-024 instances own their partitions by remainder, and an absent one leaves its own alone', async () => {
    const { runtime, table, instance } = setup()
    const delivered: string[] = []
    const listener: OutboxListener = async (event) => void delivered.push(event.eventType)
    const rows = table.add(...Array.from({ length: 100 }, (_, index) => eventOf(`k${index}`, 0)))
    const first = instance(listener, { instanceCount: 2, instanceId: 0 })
    await first.start()
    await runtime.advance(60_000)
    const own = rows.filter(({ shard }) => shard % 2 === 0)
    expect(delivered.toSorted()).toEqual(own.map(({ event }) => event.eventType).toSorted())
    const second = instance(listener, { instanceCount: 2, instanceId: 1 })
    await second.start()
    await runtime.advance(10_000)
    expect(delivered).toHaveLength(100)
    await runtime.run(() => Promise.all([first.stop(), second.stop()]))
  })

  test('S4-031 has at most maxInFlight publications under way', async () => {
    const { runtime, table, instance } = setup()
    let running = 0
    let most = 0
    const outbox = instance(async () => {
      most = Math.max(most, ++running)
      await runtime.timers.sleep(50)
      running--
    })
    table.add(...Array.from({ length: 200 }, (_, index) => eventOf(`k${index}`, 0)))
    await outbox.start()
    await runtime.advance(10_000)
    expect(most).toBe(16)
    expect(table.withStatus('DONE')).toHaveLength(200)
    await runtime.run(() => outbox.stop())
  })

  test('C-54 a key with an unsent earlier row waits behind it', async () => {
    const { runtime, table, instance } = setup()
    const delivered: string[] = []
    let failures = 0
    const outbox = instance(async (event) => {
      if (event.eventType === 'a-0' && failures++ < 2) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      delivered.push(event.eventType)
    })
    table.add(eventOf('a', 0), eventOf('a', 1))
    await outbox.start()
    await runtime.advance(500)
    expect(delivered).toEqual([])
    await runtime.advance(20_000)
    expect(delivered).toEqual(['a-0', 'a-1'])
    await runtime.run(() => outbox.stop())
  })

  test('S4-034 plans failures by their kind: what cannot help is DEAD at once', async () => {
    const { runtime, table, instance } = setup()
    const outbox = instance(
      async () => {
        throw new TypeError('bad')
      },
      { breaker: false },
    )
    const permanent = instance(
      async () => {
        throw Object.assign(new Error('too large'), { name: 'PayloadTooLargeError' })
      },
      { breaker: false },
    )
    table.add(eventOf('a', 0))
    await outbox.start()
    await runtime.advance(1_000)
    expect(table.rows[0]).toMatchObject({ status: 'RETRY', attempts: 1 })
    expect((table.rows[0]?.availableAt as number) - runtime.clock.now()).toBeGreaterThan(300)
    await runtime.run(() => outbox.stop())
    await permanent.start()
    await runtime.advance(5_000)
    expect(table.rows[0]).toMatchObject({ status: 'DEAD', attempts: 2 })
    await runtime.run(() => permanent.stop())
  })

  test('S4-038 five failures in a row stop publications for 20 seconds, then one probes', async () => {
    const { runtime, table, instance } = setup()
    const calls: number[] = []
    let isDown = true
    const outbox = instance(async () => {
      calls.push(runtime.clock.monotonic())
      if (isDown) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    })
    await outbox.start()
    const startedAt = runtime.clock.monotonic()
    table.add(...Array.from({ length: 60 }, (_, index) => eventOf(`k${index}`, 0)))
    await runtime.advance(19_000)
    const before = calls.length
    expect(before).toBeLessThanOrEqual(5 + 16)
    expect(calls.every((at) => at - startedAt < 4_000)).toBe(true)
    isDown = false
    await runtime.advance(60_000)
    expect(table.withStatus('DONE')).toHaveLength(60)
    await runtime.run(() => outbox.stop())
  })

  test.each<[what: string, listener: () => OutboxListener | null]>([
    ['nobody listens to', () => null],
    ['cannot be delivered, ever', () => () => Promise.reject(new NonRetryableError('no such topic'))],
    ['are refused by validation', () => () => Promise.reject(new ArgumentError('too large'))],
    ['are wanted later', () => async () => ({ retryAfterMs: 1_000 })],
  ])('S4-038 the breaker does not count events that %s: the broker is up', async (_, badListener) => {
    const { runtime, table, instance } = setup()
    const delivered: string[] = []
    const outbox = instance(async () => {}, {
      listeners: {
        listenerFor: (__, type) =>
          type.startsWith('bad') ? badListener() : async ({ eventType }) => void delivered.push(eventType),
      },
    })
    table.add(...Array.from({ length: 40 }, (__, index) => eventOf(index < 20 ? `bad${index}` : `good${index}`, 0)))
    await outbox.start()
    await runtime.advance(10_000)
    expect(delivered).toHaveLength(20)
    await runtime.run(() => outbox.stop())
  })

  test('S4-037 deletes what was sent after a week, in a run a minute of 500 rows a statement', async () => {
    const { runtime, table, instance } = setup()
    const outbox = instance(async () => {}, { purge: {}, intervalMs: 3_600_000 })
    await outbox.start()
    await runtime.advance(1_000)
    for (const row of table.add(...Array.from({ length: 1_200 }, (_, index) => eventOf('a', index))))
      Object.assign(row, { status: 'DONE', doneAt: runtime.clock.now() - 7 * 24 * 3_600_000 - 1 })
    table.calls.length = 0
    await runtime.advance(61_000)
    expect(table.rows).toEqual([])
    expect(table.calls.filter((call) => call === 'purge')).toHaveLength(3)
    await runtime.run(() => outbox.stop())
  })

  test('every partition is read even where memory has room for a single row', async () => {
    const { runtime, table, instance } = setup()
    const outbox = instance(async () => {}, { batchSize: 100, maxBuffered: 1 })
    table.add(...Array.from({ length: 1_000 }, (_, index) => eventOf(`k${index}`, 0)))
    await outbox.start()
    await runtime.advance(60_000)
    expect(table.withStatus('DONE')).toHaveLength(1_000)
    await runtime.run(() => outbox.stop())
  })

  test('an instance beyond the count, and workers beside maxInFlight, are refused together', () => {
    const { instance } = setup()
    const refused = (() => {
      try {
        instance(async () => {}, { instanceCount: 2, instanceId: 2 })
      } catch (error) {
        return error
      }
      return undefined
    })()
    expect(refused).toBeInstanceOf(OptionsError)
    expect(String(refused)).toContain('instanceId must be below instanceCount, 2, got 2')
    expect(() => instance(async () => {}, { workerCount: 3 } as object)).toThrow(
      'Outbox.leasing has maxInFlight instead',
    )
  })
})
