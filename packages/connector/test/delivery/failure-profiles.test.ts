import { NonRetryableError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicRecords, topicValues } from './topic-records.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''

describe('S0-123 STRICT', () => {
  test('writes what tier 0 cannot save to the dead letters before the next record starts, and has no tiers', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const seen: string[] = []
      const handler = (record: KafkaRecord): void => {
        const value = valueOf(record)
        seen.push(`${value}, dead: ${topicValues(sim, 'orders.DLT').join()}`)
        if (value === 'bad') throw new Error('no')
      }
      const bus = connector({ bindings: { shipping: { ...plain, orderingMode: 'STRICT', handler } } })
      await bus.start()
      await write('orders', ['a', 'bad', 'b'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 3n }))
      expect(seen).toEqual(['a, dead: ', 'bad, dead: ', 'bad, dead: ', 'bad, dead: ', 'b, dead: bad'])
      expect(() => sim.partition('orders.retry-1', 0)).toThrow(/retry-1/)
      expect(topicRecords(sim, 'orders.DLT')[0]?.headers.text('x-eventbus-total-attempts')).toBe('3')
    }))

  test('PAUSE_PARTITION stops that partition and no other, through a rebalance, until an operator resumes it', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      let isMended = false
      const handler = (record: KafkaRecord): void => {
        if (valueOf(record) === 'bad' && !isMended) throw new Error('no')
        handled.push(valueOf(record))
      }
      const bus = connector({
        bindings: { shipping: { ...plain, orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION', handler } },
      })
      await bus.start()
      await write('orders', ['bad', 'behind'], 0)
      await write('orders', ['a'], 1)
      const partitions = () => bus.listBindings()[0]?.containers[0]?.members[0]?.partitions ?? []
      await eventually(() => expect(partitions().map(({ pausedBy }) => pausedBy)).toEqual([['EXHAUSTED'], []]))
      await write('orders', ['b'], 1)
      await eventually(() => expect(handled).toEqual(['a', 'b']))
      sim.rebalance('shipping')
      await sleep(60_000)
      await eventually(() => expect(partitions()[0]?.pausedBy).toEqual(['EXHAUSTED']))
      expect(handled).toEqual(['a', 'b'])
      expect(committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n).toBe(0n)
      expect(topicValues(sim, 'orders.DLT', 2)).toEqual([])
      isMended = true
      await bus.resume('shipping')
      await eventually(() => expect(handled).toEqual(['a', 'b', 'bad', 'behind']))
    }))
})

describe('BEST_EFFORT_SKIP', () => {
  test('S2-042 passes over what fails, counted and audited, and never writes it to the dead letters', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = (record: KafkaRecord): void => {
        const value = valueOf(record)
        if (value === 'slow redis') throw new Error('timeout')
        if (value === 'broken') throw new NonRetryableError('schema')
        handled.push(value)
      }
      const bus = connector({
        bindings: {
          shipping: { ...plain, failureProfile: 'BEST_EFFORT_SKIP', retry: { tier0: { maxAttempts: 1 } }, handler },
        },
      })
      await bus.start()
      await write('orders', ['a', 'slow redis', 'broken', 'b'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 4n }))
      expect(handled).toEqual(['a', 'b'])
      expect(topicValues(sim, 'orders.DLT')).toEqual(['broken'])
      expect(metrics.total('eventbus.records.skipped', { binding: 'shipping', cause: 'BEST_EFFORT' })).toBe(1)
      expect(await bus.audit()).toMatchObject([{ ok: 2n, skipped: 1n, dead: 1n, problem: undefined }])
    }))
})

describe('S3-012 C-47 BLOCKING_UNLIMITED', () => {
  const blocking = { ...plain, failureProfile: 'BLOCKING_UNLIMITED' as const, retry: { tier0: { maxAttempts: 1 } } }

  test('S3-013 S3-015 S2-040 tries one record for hours, in its order, without a rebalance and without a dead letter', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const at: number[] = []
      const handled: string[] = []
      let isDown = true
      const handler = (record: KafkaRecord): void => {
        if (valueOf(record) === 'first' && isDown) {
          at.push(runtime.clock.monotonic())
          throw new Error('database away')
        }
        handled.push(valueOf(record))
      }
      const bus = connector({ bindings: { shipping: { ...blocking, handler } } })
      await bus.start()
      await write('orders', ['before', 'first', 'second'], 0)
      await write('orders', ['other'], 1)
      await eventually(() => expect(handled.toSorted()).toEqual(['before', 'other']))
      const { generation } = sim.group('shipping')
      await sleep(7_200_000)
      expect(handled).toHaveLength(2)
      expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 1n, 1: 1n })
      expect(sim.group('shipping').generation).toBe(generation)
      isDown = false
      await eventually(() => expect(handled.slice(2)).toEqual(['first', 'second']))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 3n, 1: 1n }))
      expect(topicValues(sim, 'orders.DLT', 2)).toEqual([])
      expect(at.length).toBeGreaterThan(200)
    }))

  test('S3-012 S3-014 C-50 waits 1 s, then twice as long each time, up to 30 s', () =>
    connectorWorld(async ({ sim, runtime, connector, write, sleep }) => {
      sim.createTopic('orders')
      const at: number[] = []
      const handler = (): void => {
        at.push(runtime.clock.monotonic())
        throw new Error('database away')
      }
      const bus = connector({ bindings: { shipping: { ...blocking, handler } } })
      await bus.start()
      await write('orders', ['first'])
      await sleep(600_000)
      const waits = at.slice(1).map((time, index) => time - (at[index] as number))
      for (const [index, nominal] of [1_000, 2_000, 4_000, 8_000, 16_000].entries()) {
        expect(waits[index]).toBeGreaterThanOrEqual(nominal * 0.5)
        expect(waits[index]).toBeLessThan(nominal * 1.5 + 1)
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(30_001)
      expect(Math.min(...waits.slice(5))).toBeGreaterThanOrEqual(15_000)
    }))

  test('S3-011 still writes what can never succeed to the dead letters, and goes on', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = (record: KafkaRecord, { attempt }: DeliveryContext): void => {
        if (valueOf(record) === 'gap') throw new NonRetryableError(`version gap, call ${attempt}`)
        handled.push(valueOf(record))
      }
      const bus = connector({ bindings: { shipping: { ...blocking, handler } } })
      await bus.start()
      await write('orders', ['gap', 'a'])
      await eventually(() => expect(handled).toEqual(['a']))
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toEqual(['gap']))
      expect(topicRecords(sim, 'orders.DLT')[0]?.headers.text('x-eventbus-last-exception-message')).toBe(
        'version gap, call 1',
      )
    }))

  test('C-04 a dead letter tells of all calls since the record was blocked, and when it failed first', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually }) => {
      sim.createTopic('orders')
      const at: number[] = []
      const handler = (): void => {
        at.push(runtime.clock.now())
        if (at.length < 4) throw new Error('database away')
        throw new NonRetryableError('version gap')
      }
      const bus = connector({ bindings: { shipping: { ...blocking, handler } } })
      await bus.start()
      await write('orders', ['gap'])
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toEqual(['gap']))
      const { headers } = topicRecords(sim, 'orders.DLT')[0] as KafkaRecord
      expect(headers.text('x-eventbus-total-attempts')).toBe('4')
      expect(headers.text('x-eventbus-first-failure-timestamp')).toBe(`${at[0]}`)
    }))
})
