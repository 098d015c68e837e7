import { Buffer } from 'node:buffer'
import { deadLetterRecordOf } from '@waybill/connector'
import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'
import { packedProducer, packedValue } from './packed-value.ts'
import { committedOffsets, topicRecords, topicValues } from './topic-records.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }

describe('TieredRetryIntegration: S0-111 a record that always fails', () => {
  test('is called 30 times over three tiers in 1,110 s and is then a dead letter with its whole history', () =>
    connectorWorld(async ({ sim, client, runtime, connector, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const calls: { tier: number; attempt: number; at: number; deliveries: string | undefined }[] = []
      const handler = (_: unknown, { tier, attempt, headers }: DeliveryContext): void => {
        const deliveries = headers.text('x-eventbus-retry-attempt')
        calls.push({ tier, attempt, at: runtime.clock.now(), deliveries })
        throw new TypeError(`no stock, call ${calls.length}`)
      }
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await using producer = client.producer('EVENT')
      const headers = [['tenant', Buffer.from('t-1')]] as const
      const record = {
        topic: 'orders',
        partition: 1,
        key: Buffer.from('o-1'),
        value: Buffer.from([0, 255, 1]),
        headers,
      }
      await producer.send(record)
      await sleep(1_150_000)
      await eventually(() => expect(topicRecords(sim, 'orders.DLT', 2)).toHaveLength(1))

      expect(calls).toHaveLength(30)
      expect(calls.map(({ tier }) => tier)).toEqual([
        ...Array<number>(3).fill(0),
        ...Array<number>(9).fill(1),
        ...Array<number>(9).fill(2),
        ...Array<number>(9).fill(3),
      ])
      expect(calls.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 30 }, (_, index) => (index % 3) + 1))
      expect(calls.slice(3).map(({ deliveries }) => Number(deliveries))).toEqual(
        Array.from({ length: 27 }, (_, index) => (Math.floor(index / 3) % 3) + 1),
      )
      const waits = calls.flatMap(({ at, attempt }, index) =>
        index > 0 && attempt === 1 ? [at - (calls[index - 1]?.at ?? 0)] : [],
      )
      for (const [index, delayMs] of [10, 10, 10, 60, 60, 60, 300, 300, 300].entries()) {
        expect(waits[index]).toBeGreaterThanOrEqual(delayMs * 1_000)
        expect(waits[index]).toBeLessThan(delayMs * 1_000 + 1_500)
      }
      expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThanOrEqual(1_110_000)

      const [dead] = topicRecords(sim, 'orders.DLT', 2)
      expect([dead?.key?.toString(), dead?.value, dead?.headers.text('tenant')]).toEqual(['o-1', record.value, 't-1'])
      expect(deadLetterRecordOf(dead as NonNullable<typeof dead>)).toMatchObject({
        originalTopic: 'orders',
        originalPartition: 1,
        originalOffset: 0n,
        dltReason: 'RETRIES_EXHAUSTED',
        totalAttempts: 30,
        lastExceptionClass: 'TypeError',
        lastExceptionMessage: 'no stock, call 30',
        tierHistory: [
          { tier: 0, exceptionClass: 'TypeError', attempts: 3 },
          { tier: 1, exceptionClass: 'TypeError', attempts: 9 },
          { tier: 2, exceptionClass: 'TypeError', attempts: 9 },
          { tier: 3, exceptionClass: 'TypeError', attempts: 9 },
        ],
      })
      expect(dead?.headers.text('x-eventbus-retry-tier')).toBe('3')
      expect(bus.health().status).toBe('UP')
    }))

  test('S0-114 S0-116 waits without a rebalance, and others of its topic are handled meanwhile (S0-124)', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const good = collecting()
      const handler = (record: Parameters<typeof good.handler>[0]): Promise<void> =>
        record.value?.toString() === 'bad' ? Promise.reject(new Error('no')) : good.handler(record)
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await write('orders', ['bad', 'a', 'b'])
      await eventually(() => expect(good.values).toEqual(['a', 'b']))
      const tierStatus = () => bus.listBindings()[0]?.containers[3]?.members[0]?.partitions[0]
      const generations = () =>
        ['', '-retry-1', '-retry-2', '-retry-3'].map((of) => sim.group(`shipping${of}`).generation)
      await sleep(250_000)
      await eventually(() => expect(tierStatus()).toMatchObject({ pausedBy: ['DELAY'], buffered: 1 }))
      const before = generations()
      await sleep(250_000)
      expect(generations()).toEqual(before)
    }))
})

describe('a record that succeeds in a tier', () => {
  test('S0-117 S0-118 S0-201 is settled there, under its own key, and knows where it came from', () =>
    connectorWorld(async ({ sim, client, connector, eventually }) => {
      sim.createTopic('orders', { partitions: 3 })
      const originals: string[] = []
      const handler = (_: unknown, { tier, original }: DeliveryContext): void => {
        if (tier === 0) throw new Error('not yet')
        originals.push(`${original.topic}-${original.partition}@${original.offset}`)
      }
      const bus = connector({
        bindings: { shipping: { ...plain, handler, retry: { tiers: [{ delayMs: 1_000 }] } } },
      })
      await bus.start()
      await using producer = client.producer('EVENT')
      for (const partition of [0, 1, 2])
        await producer.send({ topic: 'orders', partition, key: Buffer.from('same'), value: null })
      await eventually(() => expect(originals.toSorted()).toEqual(['orders-0@0', 'orders-1@0', 'orders-2@0']))
      const retried = topicRecords(sim, 'orders.retry-1', 3)
      expect(retried.map(({ key }) => key?.toString())).toEqual(['same', 'same', 'same'])
      expect(new Set(retried.map(({ partition }) => partition)).size).toBe(1)
      await bus.stop()
      expect(topicValues(sim, 'orders.DLT', 3)).toEqual([])
      expect(Object.values(committedOffsets(sim, 'shipping-retry-1', 'orders.retry-1'))).toContain(3n)
    }))

  test('I12 waits its delay through a restart', () =>
    connectorWorld(async ({ sim, client, runtime, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const at: number[] = []
      const handler = (_: unknown, { tier }: DeliveryContext): void => {
        at.push(runtime.clock.now())
        if (tier === 0) throw new Error('not yet')
      }
      const bindings = {
        shipping: { ...plain, handler, retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000 }] } },
      }
      const first = connector({ bindings })
      await first.start()
      await write('orders', ['a'])
      await eventually(() => expect(topicValues(sim, 'orders.retry-1')).toEqual(['a']))
      await sleep(20_000)
      await first.stop()
      await sleep(10_000)
      await using second = createConnector({ clusters: { default: client }, bindings, runtime })
      await second.start()
      await eventually(() => expect(at).toHaveLength(2))
      const waited = (at[1] as number) - (at[0] as number)
      expect(waited).toBeGreaterThanOrEqual(60_000)
      expect(waited).toBeLessThan(62_000)
    }))
})

describe('S2-046 S2-049 the attempts of a record', () => {
  test('S2-047 S2-048 are counted in its headers: it is dead after three, though the process is new each time', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const calls: (string | undefined)[] = []
      const handler = (_: unknown, { headers }: DeliveryContext): void => {
        calls.push(headers.text('x-eventbus-retry-attempt'))
        throw new Error('no')
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 30_000, maxAttempts: 2 }] }
      await write('orders', ['a'])
      for (const attempt of [1, 2, 3]) {
        const bus = connector({ bindings: { shipping: { ...plain, handler, retry, dlt: { format: 'ENVELOPE' } } } })
        await bus.start()
        await eventually(() => expect(calls).toHaveLength(attempt))
        await bus.stop()
      }
      expect(calls).toEqual([undefined, '1', '2'])
      const [dead] = topicRecords(sim, 'orders.DLT')
      expect(dead?.headers.text('x-processing-attempts')).toBe('3')
      expect(deadLetterRecordOf(dead as NonNullable<typeof dead>)).toMatchObject({
        totalAttempts: 3,
        value: Buffer.from('a'),
      })
      for (const record of topicRecords(sim, 'orders.retry-1')) expect(record.value?.toString()).toBe('a')
    }))
})

describe('S0-121 S0-122 the classifier', () => {
  test('sends an error of its own to the tier that is mapped to it, and a final one to the dead letters', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      class LimitError extends Error {}
      const handler = (record: { readonly value: Buffer | null }): void => {
        throw record.value?.toString() === 'limit' ? new LimitError('later') : new RangeError('never')
      }
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            handler,
            retry: { skipToTierMapping: [[LimitError, 3]], nonRetryableExceptions: [RangeError] },
          },
        },
      })
      await bus.start()
      await write('orders', ['limit', 'never'])
      await eventually(() => expect(topicValues(sim, 'orders.retry-3')).toEqual(['limit']))
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toEqual(['never']))
      expect([topicValues(sim, 'orders.retry-1'), topicValues(sim, 'orders.retry-2')]).toEqual([[], []])
      expect(topicRecords(sim, 'orders.DLT')[0]?.headers.text('x-eventbus-dlt-reason')).toBe('NON_RETRYABLE')
    }))
})

describe('C-71 two groups on one topic', () => {
  test('see none of the retries of the other, though they share the tier’s topic', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const seen: string[] = []
      const handlerOf =
        (group: string, bad: string) =>
        (record: { readonly value: Buffer | null }, { tier }: DeliveryContext): void => {
          const value = record.value?.toString() ?? ''
          if (value === bad && tier === 0) throw new Error('not yet')
          seen.push(`${group} ${value} ${tier}`)
        }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] }
      const shipping = connector({ bindings: { shipping: { ...plain, retry, handler: handlerOf('shipping', 'a') } } })
      await using other = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('billing'), runtime })
      const billingOf = { topic: 'orders', groupId: 'billing', retry, handler: handlerOf('billing', 'b') }
      await using billing = createConnector({
        clusters: { default: other },
        bindings: { billing: billingOf },
        runtime,
      })
      await Promise.all([shipping.start(), billing.start()])
      await write('orders', ['a', 'b'])
      await eventually(() =>
        expect(seen.toSorted()).toEqual(['billing a 0', 'billing b 1', 'shipping a 1', 'shipping b 0']),
      )
      expect(topicValues(sim, 'orders.retry-1').toSorted()).toEqual(['a', 'b'])
      const foreign = { topic: 'orders.retry-1', cause: 'FOREIGN_GROUP' }
      for (const binding of ['shipping', 'billing'])
        await eventually(() => expect(metrics.total('eventbus.records.skipped', { ...foreign, binding })).toBe(1))
      await shipping.stop()
      const [audited] = (await billing.audit()).filter(({ topic }) => topic === 'orders.retry-1')
      expect(audited).toMatchObject({ ok: 1n, skipped: 1n })
    }))
})

test('C-71 a binding that reads the dead letters of another gets those of replayed records too', () =>
  connectorWorld(async ({ sim, client, connector, eventually }) => {
    sim.createTopic('orders')
    const care = collecting()
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] }
    const bus = connector({
      bindings: {
        shipping: { ...plain, retry, handler: () => Promise.reject(new Error('no stock')) },
        care: { topic: 'orders.DLT', groupId: 'care', retry, handler: care.handler },
      },
    })
    await bus.start()
    await using producer = client.producer('EVENT')
    const headers = [
      ['x-eventbus-replay-count', Buffer.from('1')],
      ['x-eventbus-consumer-group', Buffer.from('shipping')],
    ] as const
    await producer.send({ topic: 'orders', key: null, value: Buffer.from('plain') })
    await producer.send({ topic: 'orders', key: null, value: Buffer.from('replayed'), headers })
    await eventually(() => expect(care.values.toSorted()).toEqual(['plain', 'replayed']))
  }))

describe('R7 a record that ZSTD made small and that its tier does not take', () => {
  test('is a dead letter by reference that says so, and the partition goes on', () =>
    connectorWorld(async ({ sim, client, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = (record: KafkaRecord): void => {
        if (record.offset === 0n) throw new TypeError('no stock')
        handled.push(record.value?.toString() ?? '')
      }
      const bus = connector({ bindings: { shipping: { ...plain, retry: { tier0: { maxAttempts: 1 } }, handler } } })
      await bus.start()
      await using producer = client.producer('EVENT', packedProducer)
      await producer.send({ topic: 'orders', partition: 0, key: Buffer.from('o-1'), value: packedValue() })
      await write('orders', ['b'])
      await eventually(() => expect(handled).toEqual(['b']))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n }))
      const [dead] = topicRecords(sim, 'orders.DLT')
      expect([dead?.key?.toString(), dead?.value, dead?.headers.text('x-eventbus-dlt-parked')]).toEqual([
        'o-1',
        null,
        'value',
      ])
      expect(deadLetterRecordOf(dead as KafkaRecord)).toMatchObject({
        dltReason: 'RETRIES_EXHAUSTED',
        originalOffset: 0n,
        totalAttempts: 1,
        lastExceptionClass: 'RetryTooLargeError',
        lastExceptionMessage: expect.stringMatching(/orders\.retry-1.*TypeError: no stock/),
      })
      expect(topicRecords(sim, 'orders.retry-1')).toEqual([])
      expect(await bus.audit()).toMatchObject([{ ok: 1n, retried: 0n, dead: 1n, problem: undefined }])
      expect(bus.health()).toMatchObject({ status: 'UP', reasons: [] })
    }))
})
