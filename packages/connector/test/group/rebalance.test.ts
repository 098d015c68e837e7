import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { committedOffsets, topicValues } from '../delivery/topic-records.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

watchRejections()

const plain = { topic: 'orders', groupId: 'shipping' }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

/** A second process of the same service. */
function otherProcess(
  { sim, runtime }: ConnectorWorld,
  bindings: Parameters<typeof createConnector>[0]['bindings'] & object,
) {
  const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('other'), runtime })
  const connector = createConnector({ clusters: { default: client }, bindings, runtime })
  return {
    connector,
    async [Symbol.asyncDispose]() {
      await connector.stop({ deadlineMs: 1_000 })
      await client[Symbol.asyncDispose]()
    },
  }
}

describe('RebalanceHandling: a rebalance', () => {
  test('S0-154 S2-062 S3-023 is logged and counted, once for all members of a container', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, eventually, logger, metrics } = world
      sim.createTopic('orders', { partitions: 4 })
      const bindings = { shipping: { ...plain, concurrency: 2, handler: () => {} } }
      const first = connector({ bindings })
      await first.start()
      for (const partition of [0, 1, 2, 3]) await write('orders', ['a'], partition)
      const committed = () => committedOffsets(sim, 'shipping', 'orders')
      await eventually(() => expect(committed()).toEqual({ 0: 1n, 1: 1n, 2: 1n, 3: 1n }))
      const generations = () => metrics.total('eventbus.rebalances', { topic: 'orders', outcome: 'completed' })
      const before = generations()
      const lines = (text: string) => logger.lines.filter((line) => line.text === text)
      expect(lines('Group rebalanced').filter(({ fields }) => fields['topic'] === 'orders')).toHaveLength(before)
      sim.rebalance('shipping')
      await eventually(() => expect(generations()).toBe(before + 1))
      expect(metrics.total('eventbus.partitions.revoked', { topic: 'orders' })).toBe(0)
      await using other = otherProcess(world, { shipping: { ...plain, handler: () => {} } })
      await other.connector.start()
      await eventually(() => expect(metrics.total('eventbus.partitions.revoked', { cause: 'revoked' })).toBe(1))
      const [revoked] = lines('Partitions revoked')
      expect(revoked).toMatchObject({
        level: 'INFO',
        fields: { bindingName: 'shipping', cluster: 'default', topic: 'orders', consumerGroup: 'shipping' },
      })
      expect(revoked?.fields['committed']).toMatch(/^\d at 1$/)
    }))

  test('S0-154 is logged as lost when the group went on without a member, with what it had committed', () =>
    connectorWorld(async ({ sim, connector, write, eventually, logger, metrics }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: { ...plain, handler: () => {} } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 1n }))
      const [member] = sim.group('shipping').members
      sim.expireMember('shipping', member?.memberId ?? '')
      await eventually(() => expect(metrics.total('eventbus.partitions.revoked', { cause: 'lost' })).toBe(1))
      const lost = logger.lines.find(({ text }) => text === 'Partitions lost')
      expect(lost).toMatchObject({ level: 'WARN', fields: { topic: 'orders', committed: '0 at 1' } })
    }))

  test('S3-023 that fails is logged and counted', () =>
    connectorWorld(async ({ sim, connector, eventually, logger, metrics }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: { ...plain, handler: () => {} } } })
      await bus.start()
      await eventually(() => expect(metrics.total('eventbus.rebalances', { outcome: 'completed' })).toBeGreaterThan(0))
      const drop = sim.dropResponses({ api: 'JoinGroup' })
      sim.rebalance('shipping')
      await eventually(() => expect(metrics.total('eventbus.rebalances', { outcome: 'failed' })).toBeGreaterThan(0))
      drop[Symbol.dispose]()
      expect(logger.lines.find(({ text }) => text === 'Group rebalance failed')?.fields).toMatchObject({
        topic: 'orders',
        consumerGroup: 'shipping',
        why: expect.stringContaining('JoinGroup'),
      })
    }))

  test('S0-154 C-46 cancels the retries of a revoked partition, and the next owner decides about its record', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, eventually } = world
      sim.createTopic('orders', { partitions: 2 })
      const calls: string[] = []
      const handlerOf =
        (name: string) =>
        (record: KafkaRecord, { attempt }: DeliveryContext) => {
          calls.push(`${name} ${valueOf(record)} ${attempt}`)
          if (name === 'first') throw new Error('not here')
        }
      const slowRetries = {
        ...plain,
        maxPollRecords: 1,
        retry: { tier0: { maxAttempts: 5, initialBackoffMs: 60_000, maxBackoffMs: 60_000 } },
      }
      const first = connector({ bindings: { shipping: { ...slowRetries, handler: handlerOf('first') } } })
      await first.start()
      await write('orders', ['in 0'], 0)
      await write('orders', ['in 1'], 1)
      await eventually(() => expect(calls.toSorted()).toEqual(['first in 0 1', 'first in 1 1']))
      await using other = otherProcess(world, { shipping: { ...slowRetries, handler: handlerOf('second') } })
      await other.connector.start()
      await eventually(() => expect(calls.filter((call) => call.startsWith('second'))).toHaveLength(1))
      const [moved = ''] = calls.filter((call) => call.startsWith('second'))
      expect(moved).toMatch(/^second in \d 1$/)
      expect(calls.filter((call) => call.startsWith('first') && call.includes(moved.slice(7, 11)))).toHaveLength(1)
      expect(topicValues(sim, 'orders.retry-1', 2)).toEqual([])
    }))

  test('S0-148 S2-036 S2-038 lets running handlers finish, commits them, and starts no other handler of that partition', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, eventually, sleep } = world
      sim.createTopic('orders', { partitions: 2 })
      const handled: string[] = []
      const handlerOf =
        (name: string) =>
        async (record: KafkaRecord): Promise<void> => {
          await sleep(5_000)
          handled.push(`${name} ${record.partition} ${valueOf(record)}`)
        }
      const first = connector({ bindings: { shipping: { ...plain, handler: handlerOf('first') } } })
      await first.start()
      await write('orders', numbers(10), 0)
      await write('orders', numbers(10), 1)
      await eventually(() => expect(handled.length).toBeGreaterThanOrEqual(2))
      await using other = otherProcess(world, { shipping: { ...plain, handler: handlerOf('second') } })
      await other.connector.start()
      await eventually(() => expect(handled).toHaveLength(20))
      const records = handled.map((line) => line.slice(line.indexOf(' ') + 1))
      expect(new Set(records).size).toBe(20)
      for (const partition of [0, 1]) {
        const order = records.filter((line) => line.startsWith(`${partition}`)).map((line) => line.slice(2))
        expect(order).toEqual(numbers(10))
      }
      expect(handled.some((line) => line.startsWith('second'))).toBe(true)
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 10n, 1: 10n }))
    }))

  test('loses no record and settles each one, however often it happens while records fail', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, eventually, sleep } = world
      sim.createTopic('orders', { partitions: 3 })
      const succeeded = new Set<string>()
      const handler = async (record: KafkaRecord, { tier }: DeliveryContext): Promise<void> => {
        await sleep(20)
        if (tier === 0 && Number(valueOf(record)) % 3 === 0) throw new Error('not yet')
        succeeded.add(valueOf(record))
      }
      const binding = {
        ...plain,
        parallelism: 'UNORDERED' as const,
        retry: { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 1_000 }] },
        handler,
      }
      const first = connector({ bindings: { shipping: binding } })
      await first.start()
      for (let round = 0; round < 5; round++) {
        const from = round * 30
        for (const partition of [0, 1, 2])
          await write(
            'orders',
            numbers(10).map((value) => `${from + partition * 10 + Number(value)}`),
            partition,
          )
        await using other = otherProcess(world, { shipping: binding })
        await other.connector.start()
        sim.rebalance('shipping')
        await sleep(700)
      }
      await eventually(() => expect(succeeded.size).toBe(150))
      await first.stop()
      const rows = await first.audit()
      expect(rows.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
      const settled = rows.filter(({ topic }) => topic === 'orders').map(({ ok, retried, dead }) => ok + retried + dead)
      expect(settled).toEqual([50n, 50n, 50n])
    }))
})

describe('PollIntervalSafetyValve: S0-150 a slice that takes longer than the poll interval', () => {
  test('loses no partition: polling continues, settled records are committed, and the valve is counted', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep, metrics }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = async (record: KafkaRecord): Promise<void> => {
        await sleep(3_000)
        handled.push(valueOf(record))
      }
      const bus = connector({
        bindings: { shipping: { ...plain, ackMode: 'MANUAL', maxPollRecords: 10, maxPollIntervalMs: 10_000, handler } },
      })
      await bus.start()
      await eventually(() => expect(sim.group('shipping').state).toBe('Stable'))
      const { generation } = sim.group('shipping')
      await write('orders', numbers(10))
      await eventually(() => expect(handled).toHaveLength(5))
      expect(committedOffsets(sim, 'shipping', 'orders')[0]).toBeGreaterThanOrEqual(4n)
      await eventually(() => expect(handled).toEqual(numbers(10)))
      expect(sim.group('shipping').generation).toBe(generation)
      expect(metrics.total('eventbus.poll.interval.safety.triggered', { binding: 'shipping' })).toBeGreaterThanOrEqual(
        2,
      )
    }))
})

describe('S2-043 while the cluster is away', () => {
  test('commits and loses nothing, and reading continues at the same offset', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const bus = connector({
        bindings: { shipping: { ...plain, handler: (record) => void handled.push(valueOf(record)) } },
      })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(handled).toEqual(['a']))
      sim.killBroker(1)
      await sleep(20_000)
      sim.restartBroker(1)
      await write('orders', ['b'])
      await eventually(() => expect(handled).toEqual(['a', 'b']))
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 2n }))
    }))
})
