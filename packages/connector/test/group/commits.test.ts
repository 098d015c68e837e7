import { ParseError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { committedOffsets, topicValues } from '../delivery/topic-records.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

/** Returns the offsets of a group's commits without repetitions. */
function offsetsOf(commits: readonly AcceptedCommit[], groupId = 'shipping'): bigint[] {
  const offsets = commits
    .filter((one) => one.groupId === groupId)
    .flatMap((one) => one.offsets.map(({ offset }) => offset))
  return offsets.filter((offset, index) => offset !== offsets[index - 1])
}

describe('S0-081 S0-146 MANUAL_IMMEDIATE', () => {
  test('S2-031 S2-033 commits the next offset after each record, before the next record starts', () =>
    connectorWorld(async ({ sim, connector, commits, write, eventually }) => {
      sim.createTopic('orders')
      const committed: (bigint | undefined)[] = []
      const handler = (): void => {
        committed.push(committedOffsets(sim, 'shipping', 'orders')[0])
      }
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await write('orders', numbers(5))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 5n }))
      expect(committed.map((offset) => offset ?? 0n)).toEqual([0n, 1n, 2n, 3n, 4n])
      expect(offsetsOf(commits).filter((offset) => offset > 0n)).toEqual([1n, 2n, 3n, 4n, 5n])
    }))

  test('S2-032 S2-034 commits nothing while the handler runs', () =>
    connectorWorld(async ({ sim, connector, write, sleep }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: { ...plain, handler: () => sleep(50_000) } } })
      await bus.start()
      await write('orders', ['a'])
      await sleep(40_000)
      expect(committedOffsets(sim, 'shipping', 'orders')[0] ?? 0n).toBe(0n)
      await sleep(20_000)
      expect(committedOffsets(sim, 'shipping', 'orders')[0]).toBe(1n)
    }))
})

describe('S0-146 MANUAL', () => {
  test('commits many settled records at once, with a later poll', () =>
    connectorWorld(async ({ sim, connector, commits, write, eventually }) => {
      sim.createTopic('orders')
      await write('orders', numbers(500))
      const shipping = collecting()
      const bus = connector({
        bindings: { shipping: { ...plain, ackMode: 'MANUAL', maxPollRecords: 100, handler: shipping.handler } },
      })
      await bus.start()
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 500n }))
      expect(shipping.values).toEqual(numbers(500))
      expect(offsetsOf(commits).at(-1)).toBe(500n)
      expect(offsetsOf(commits).length).toBeLessThan(50)
    }))
})

describe('S2-035 a poison pill in the middle of a batch', () => {
  test('S2-039 S2-050 commits 103 until the broken record 103 of 100 to 104 is dead, then 105', () =>
    connectorWorld(async ({ sim, connector, commits, write, eventually }) => {
      sim.createTopic('orders', { firstOffset: 100n })
      const handled: string[] = []
      const handler = (record: KafkaRecord): void => {
        if (record.offset === 103n) throw new ParseError('not JSON')
        handled.push(`${record.offset}`)
      }
      const bus = connector({
        bindings: { shipping: { ...plain, preset: 'FANOUT', ackMode: 'MANUAL_IMMEDIATE', handler } },
      })
      await bus.start()
      const stalled = sim.stall({ api: 'Produce', client: 'connector' })
      await write('orders', numbers(5))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 103n }))
      stalled[Symbol.dispose]()
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 105n }))
      expect(handled).toEqual(['100', '101', '102', '104'])
      const [dead] = sim.group('shipping').offsets
      expect(dead?.metadata).toMatch(/s=100 o=4 r=0 d=1 /)
      expect(offsetsOf(commits).filter((offset) => offset > 100n)).toEqual([101n, 102n, 103n, 104n, 105n])
    }))
})

describe('L5 a clean stop', () => {
  test.each(['PARTITION', 'KEY', 'UNORDERED'] as const)('repeats no record and loses none, with %s', (parallelism) =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      const handler = async (record: KafkaRecord): Promise<void> => {
        await sleep(Number(valueOf(record)) % 7)
        handled.push(`${record.partition} ${valueOf(record)}`)
      }
      const bus = connector({
        bindings: { shipping: { ...plain, parallelism, maxInFlight: 8, ackMode: 'MANUAL', handler } },
      })
      for (let round = 0; round < 6; round++) {
        await bus.start('shipping')
        await write('orders', numbers(40), round % 2)
        await sleep(40 + round * 13)
        await bus.stop('shipping')
      }
      await bus.start('shipping')
      await eventually(() => expect(handled).toHaveLength(240))
      await sleep(10_000)
      expect(handled).toHaveLength(240)
    }),
  )
})

describe('a restart', () => {
  test.each(['KEY', 'UNORDERED'] as const)(
    'does not repeat what was settled above the commit, with %s',
    (parallelism) =>
      connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
        sim.createTopic('orders')
        const handled: string[] = []
        const slow = Promise.withResolvers<void>()
        const binding = {
          ...plain,
          parallelism,
          handler: async (record: KafkaRecord): Promise<void> => {
            handled.push(valueOf(record))
            if (valueOf(record) === '3' && handled.length <= 10) await slow.promise
          },
        }
        const first = connector({ bindings: { shipping: binding } })
        await first.start()
        await write('orders', numbers(10))
        await eventually(() => expect(sim.group('shipping').offsets[0]?.metadata).toMatch(/o=9 /))
        expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 3n })
        await first.stop({ deadlineMs: 1_000 }).catch(() => {})
        const second = connector({ bindings: { shipping: binding } })
        await second.start()
        await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 10n }))
        await sleep(5_000)
        expect(handled).toEqual([...numbers(10), '3'])
        expect(sim.group('shipping').offsets[0]?.metadata).toMatch(/s=0 o=10 /)
      }),
  )
})

describe('holes in the log', () => {
  test.each(['RELAXED_IN_RETRY', 'KEY'] as const)(
    'that are wider than maxAhead do not hold up what lies behind them, with %s',
    (orderingMode) =>
      connectorWorld(async ({ sim, client, connector, eventually }) => {
        sim.createTopic('orders', { configs: { 'cleanup.policy': 'compact' } })
        await using producer = client.producer('EVENT')
        for (let time = 0; time < 50; time++)
          await producer.send({
            topic: 'orders',
            partition: 0,
            key: Buffer.from('same'),
            value: Buffer.from(`${time}`),
          })
        sim.compact('orders', 0)
        const shipping = collecting()
        const bus = connector({
          bindings: {
            shipping: { ...plain, orderingMode, parallelism: 'KEY', maxAhead: 5, handler: shipping.handler },
          },
        })
        await bus.start()
        await eventually(() => expect(shipping.values.at(-1)).toBe('49'))
        await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')[0]).toBe(50n))
        expect(topicValues(sim, 'orders').length).toBeLessThan(10)
      }),
  )
})
