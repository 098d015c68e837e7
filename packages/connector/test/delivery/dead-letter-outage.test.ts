import type { KafkaRecord } from '@waybill/kafka'
import { errorCode } from '@waybill/kafka/wire'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicValues } from './topic-records.ts'

watchRejections()

const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''

/** Records called `bad` fail for good. */
function strict(handled: string[]) {
  return {
    topic: 'orders',
    groupId: 'shipping',
    orderingMode: 'STRICT',
    retry: { tier0: { maxAttempts: 1 } },
    handler: (record: KafkaRecord): void => {
      if (valueOf(record) === 'bad') throw new Error('no')
      handled.push(valueOf(record))
    },
  } as const
}

describe('S0-085 C-27 while the dead letter topic cannot be written', () => {
  test('its partition stands still unacknowledged, others go on, health says why, and it mends by itself', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      const bus = connector({ bindings: { shipping: strict(handled) } })
      await bus.start()
      sim.deleteTopic('orders.DLT')
      await write('orders', ['bad', 'behind'], 0)
      await write('orders', ['a'], 1)
      await eventually(() => expect(handled).toEqual(['a']))
      await eventually(() =>
        expect(bus.health()).toMatchObject({
          status: 'DOWN',
          reasons: expect.arrayContaining([expect.stringMatching(/orders\.DLT/)]),
        }),
      )
      const partitions = () => bus.listBindings()[0]?.containers[0]?.members[0]?.partitions ?? []
      expect(partitions().map(({ pausedBy }) => pausedBy)).toEqual([['DEAD_LETTER_FAILURE'], []])
      const { generation } = sim.group('shipping')
      await write('orders', ['b'], 1)
      await sleep(900_000)
      expect(handled).toEqual(['a', 'b'])
      expect(committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n).toBe(0n)
      expect(sim.group('shipping').generation).toBe(generation)

      sim.createTopic('orders.DLT', { partitions: 2 })
      await eventually(() => expect(handled).toEqual(['a', 'b', 'behind']))
      expect(topicValues(sim, 'orders.DLT', 2)).toEqual(['bad'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n, 1: 2n }))
      await eventually(() => expect(bus.health()).toMatchObject({ status: 'UP', reasons: [] }))
    }))

  test('L2 records that wait for their dead letters take no place of maxInFlight from other partitions', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      const bus = connector({ bindings: { shipping: { ...strict(handled), parallelism: 'KEY', maxInFlight: 2 } } })
      await bus.start()
      sim.deleteTopic('orders.DLT')
      await write('orders', ['bad', 'bad', 'bad'], 0)
      await eventually(() => expect(bus.health().status).toBe('DOWN'))
      await write('orders', ['a', 'b', 'c'], 1)
      await eventually(() => expect(handled.toSorted()).toEqual(['a', 'b', 'c']))
    }))

  test('a write that is refused is repeated until it is taken', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const bus = connector({ bindings: { shipping: strict(handled) } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(handled).toEqual(['a']))
      await write('orders', ['bad', 'b'])
      for (let time = 0; time < 5; time++) sim.failNext('Produce', errorCode.TOPIC_AUTHORIZATION_FAILED)
      await eventually(() => expect(handled).toEqual(['a', 'b']))
      expect(topicValues(sim, 'orders.DLT')).toEqual(['bad'])
    }))

  test('D9 a write whose answer is lost is not taken for done: the record is repeated rather than gone', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const bus = connector({ bindings: { shipping: strict(handled) } })
      await bus.start()
      const lost = sim.dropResponses({ api: 'Produce', client: 'connector' })
      await write('orders', ['bad', 'behind'])
      await sleep(120_000)
      expect([handled, committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n]).toEqual([[], 0n])
      lost[Symbol.dispose]()
      await eventually(() => expect(handled).toEqual(['behind']))
      expect(new Set(topicValues(sim, 'orders.DLT'))).toEqual(new Set(['bad']))
    }))

  test('a stop keeps its deadline, acknowledges nothing, and the next start brings the record again', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const bus = connector({ bindings: { shipping: strict(handled) } })
      await bus.start()
      sim.deleteTopic('orders.DLT')
      await write('orders', ['bad', 'behind'])
      await eventually(() => expect(bus.health().status).toBe('DOWN'))
      const stopsAt = runtime.clock.monotonic() + 10_000
      await bus.stop('shipping', { deadlineMs: 10_000 })
      expect(runtime.clock.monotonic()).toBeLessThanOrEqual(stopsAt)
      expect(committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n).toBe(0n)
      await bus.start('shipping')
      await eventually(() => expect(handled).toEqual(['behind']))
      // What the first run had handed to the producer may be written as well.
      expect(new Set(topicValues(sim, 'orders.DLT'))).toEqual(new Set(['bad']))
    }))
})
