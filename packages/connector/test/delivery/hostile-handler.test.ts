import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { createConnector } from '../../src/engine/create-connector.ts'
import { connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicRecords, topicValues } from './topic-records.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''

describe('a handler that never ends', () => {
  test('L2 L4 holds up its partition alone, without a rebalance, and health names it', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      const handler = (record: KafkaRecord): Promise<void> | void => {
        if (valueOf(record) === 'endless') return new Promise(() => {})
        handled.push(valueOf(record))
      }
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await write('orders', ['endless', 'behind'], 0)
      await write('orders', ['a'], 1)
      await eventually(() => expect(handled).toEqual(['a']))
      const { generation } = sim.group('shipping')
      await sleep(1_800_000)
      await write('orders', ['b'], 1)
      await eventually(() => expect(handled).toEqual(['a', 'b']))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')[1]).toBe(2n))
      expect(committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n).toBe(0n)
      expect(sim.group('shipping').generation).toBe(generation)
      expect(bus.health()).toMatchObject({
        status: 'DOWN',
        reasons: [expect.stringMatching(/orders-0: a handler call does not finish/)],
      })
    }))

  test('with handlerTimeoutMs goes through its tiers to the dead letters like any failure', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      let calls = 0
      const handler = (record: KafkaRecord): Promise<void> | void => {
        if (valueOf(record) === 'endless') {
          calls++
          return new Promise(() => {})
        }
        handled.push(valueOf(record))
      }
      const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 1_000, maxAttempts: 2 }] }
      const bus = connector({ bindings: { shipping: { ...plain, handlerTimeoutMs: 2_000, retry, handler } } })
      await bus.start()
      await write('orders', ['endless', 'a'])
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toEqual(['endless']))
      expect([calls, handled]).toEqual([6, ['a']])
      const [dead] = topicRecords(sim, 'orders.DLT')
      expect(dead?.headers.text('x-eventbus-last-exception-class')).toBe('HandlerTimeoutError')
      expect(dead?.headers.text('x-eventbus-total-attempts')).toBe('6')
    }))
})

describe('a handler that ends too late', () => {
  test('I3 changes nothing once its partition has another owner, and the record is handled there', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const calls: string[] = []
      const late = Promise.withResolvers<void>()
      const handlerOf =
        (name: string) =>
        async (record: KafkaRecord): Promise<void> => {
          calls.push(`${name} ${valueOf(record)}`)
          if (name !== 'first' || valueOf(record) !== 'a') return
          await late.promise
          calls.push('first ended')
        }
      const first = connector({ bindings: { shipping: { ...plain, handler: handlerOf('first') } } })
      await first.start()
      await write('orders', ['a', 'b'])
      await eventually(() => expect(calls).toEqual(['first a']))
      await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('second'), runtime })
      await using second = createConnector({
        clusters: { default: client },
        bindings: { shipping: { ...plain, handler: handlerOf('second') } },
        runtime,
      })
      const frozen = sim.stall({ client: 'connector' })
      await second.start()
      await eventually(() => expect(calls).toEqual(['first a', 'second a', 'second b']))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n }))
      late.resolve()
      await sleep(1_000)
      frozen[Symbol.dispose]()
      await write('orders', ['c'])
      await eventually(() => expect(calls.filter((call) => call.endsWith(' c'))).toHaveLength(1))
      expect(calls).toContain('first ended')
      expect(calls.filter((call) => call.endsWith(' b'))).toEqual(['second b'])
      const rows = await second.audit()
      expect(rows.every(({ problem, missing }) => problem === undefined && missing === 0n)).toBe(true)
    }))
})

/** A value that throws at every attempt to read it. */
const unreadable: unknown = new Proxy(Object.freeze({}), {
  get: () => {
    throw new Error('trap')
  },
  getPrototypeOf: () => {
    throw new Error('trap')
  },
})

describe('a handler that throws what is no error', () => {
  test('ends as a dead letter that says what it was, and disturbs nobody', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const thrown: Record<string, unknown> = {
        undefined,
        null: null,
        text: 'just text',
        number: 42,
        frozen: Object.freeze(new TypeError('frozen')),
        hostile: unreadable,
        bare: Object.create(null),
      }
      const handled: string[] = []
      const handler = (record: KafkaRecord): void => {
        const value = valueOf(record)
        if (value in thrown) throw thrown[value]
        handled.push(value)
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }
      const bus = connector({ bindings: { shipping: { ...plain, retry, handler } } })
      await bus.start()
      await write('orders', [...Object.keys(thrown), 'good'])
      await eventually(() => expect(topicValues(sim, 'orders.DLT').toSorted()).toEqual(Object.keys(thrown).toSorted()))
      expect(handled).toEqual(['good'])
      const classes = topicRecords(sim, 'orders.DLT').map(
        (dead) => [valueOf(dead), dead.headers.text('x-eventbus-last-exception-class')] as const,
      )
      expect(Object.fromEntries(classes)).toMatchObject({
        undefined: 'undefined',
        null: 'null',
        text: 'String',
        number: 'Number',
        frozen: 'TypeError',
      })
      await bus.stop()
      expect(await bus.audit()).toMatchObject([
        { ok: 1n, retried: BigInt(Object.keys(thrown).length) },
        { dead: BigInt(Object.keys(thrown).length) },
      ])
    }))

  test('ends as a dead letter with the format ENVELOPE, too', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = (record: KafkaRecord): void => {
        if (valueOf(record) === 'bad') throw unreadable
        handled.push(valueOf(record))
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [] }
      const bus = connector({ bindings: { shipping: { ...plain, retry, dlt: { format: 'ENVELOPE' }, handler } } })
      await bus.start()
      await write('orders', ['bad', 'good'])
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toHaveLength(1))
      expect(handled).toEqual(['good'])
      await bus.stop()
    }))
})
