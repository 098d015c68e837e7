import { requireAllDone } from '@waybill/kafka'
import { runOnSim } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { derivedTopicsOf } from '../../src/topics/derived-topics.ts'
import { resolved } from '../options/test-binding.ts'
import { createSource, describeDerivedTopics, ensure, keyed, partitionsUnder } from './derived-topics-behaviour.ts'

const tiers = [{ delayMs: 60_000 }]

const source = { partitions: 64, replication: 3, configs: { 'min.insync.replicas': '2' } }

function counts(binding: Partial<Binding>): unknown[] {
  return derivedTopicsOf(resolved(binding), source).map(({ role, partitions }) => [role, partitions])
}

function fanout(topic: string): Partial<Binding> {
  return { preset: 'FANOUT', topic, groupId: topic }
}

describe('derived topics on a simulated cluster', () => {
  describeDerivedTopics((program) => runOnSim(program))
})

describe('the topics of a binding', () => {
  const configs = expect.objectContaining({ 'retention.ms': '-1', 'min.insync.replicas': '2' }) as object

  test('are its tiers with their delays, and its dead letters', () => {
    expect(derivedTopicsOf(resolved({ retry: { tiers } }), source)).toEqual([
      {
        name: 'orders.events.retry-1',
        role: 'TIER',
        source: 'orders.events',
        partitions: 8,
        replication: 3,
        configs,
        delayMs: 60_000,
      },
      { name: 'orders.events.DLT', role: 'DLT', source: 'orders.events', partitions: 8, replication: 3, configs },
    ])
  })

  test('are as many as configured, but for the waiting topic', () => {
    expect(counts({ derivedPartitions: 16, retry: { tiers } })).toEqual([
      ['TIER', 16],
      ['DLT', 16],
    ])
    expect(counts({ ...keyed, derivedPartitions: 16 })).toEqual([
      ['WAITING', 64],
      ['DLT', 16],
    ])
  })
})

describe('what exists already', () => {
  test('keeps its number of partitions, which no record depends on', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 8)
      await createSource(admin, 'orders.DLT', 3, { 'retention.ms': '-1', 'max.message.bytes': '1114124' })
      expect(await ensure(admin, 'CREATE', { topic: 'orders', retry: { tiers } })).toEqual([])
      expect(await partitionsUnder(admin, 'orders')).toEqual({ DLT: 3, 'retry-1': 8 })
      await expect(
        ensure(admin, 'CREATE', { topic: 'orders', retry: { tiers }, derivedPartitions: 5 }),
      ).rejects.toMatchObject({ steps: [{ kind: 'DIFFERENT_PARTITIONS' }, { kind: 'DIFFERENT_PARTITIONS' }] })
    }))

  test.each(['CREATE', 'VERIFY'] as const)('is refused where it would lose records: %s', (mode) =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 1)
      await createSource(admin, 'orders.DLT', 1, { 'retention.ms': '1000' })
      const failure = await ensure(admin, mode, { topic: 'orders', retry: { tiers: [] } }).catch(
        (error: unknown) => error,
      )
      expect(failure).toMatchObject({
        code: 'WAYBILL_DERIVED_TOPICS_INVALID',
        steps: [{ kind: 'CONFIG_UNSAFE', topic: 'orders.DLT', config: 'retention.ms' }],
        hint: 'Fix these topics manually, or choose other names. Existing topics are never altered.',
      })
    }),
  )

  test('is taken with a retention that is long enough, and never altered', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 1)
      const configs = { 'retention.ms': '2592000000', 'max.message.bytes': '2000000' }
      await createSource(admin, 'orders.DLT', 1, configs)
      for (const mode of ['CREATE', 'VERIFY'] as const)
        await ensure(admin, mode, { topic: 'orders', retry: { tiers: [] } })
      const [one] = requireAllDone('', await admin.describeConfigs(['orders.DLT']))
      expect(one?.configs.get('retention.ms')?.value).toBe('2592000000')
    }))

  test.each([
    ['VERIFY', 2],
    ['VERIFY', 8],
    ['CREATE', 8],
  ] as const)('is refused by %s as a waiting topic of %i partitions beside a source of 4', (mode, partitions) =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 4)
      const waiting = 'orders.billing.waiting'
      await createSource(admin, waiting, partitions, { 'retention.ms': '-1', 'max.message.bytes': '2000000' })
      await createSource(admin, 'orders.DLT', 4, { 'retention.ms': '-1', 'max.message.bytes': '2000000' })
      const failure = await ensure(admin, mode, { ...keyed, topic: 'orders' }).catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: 'WAYBILL_DERIVED_TOPICS_INVALID',
        steps: [{ kind: 'CONFIG_UNSAFE', topic: waiting, config: 'partitions', value: String(partitions) }],
      })
    }),
  )
})

describe('what a broker says for all topics', () => {
  test('is left to it, but for the size of records, which the derived topics must exceed', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 1)
      const brokerSays = new Map([
        ['max.message.bytes', { value: '5000000', isDefault: true }],
        ['min.insync.replicas', { value: '2', isDefault: true }],
      ])
      const describeConfigs = async (topics: readonly string[]) =>
        topics.map((topic) => ({ topic, outcome: 'DONE', configs: brokerSays }) as const)
      await ensure({ ...admin, describeConfigs }, 'CREATE', { topic: 'orders', retry: { tiers: [] } })
      const [one] = requireAllDone('', await admin.describeConfigs(['orders.DLT']))
      expect(one?.configs.get('max.message.bytes')).toEqual({ value: '5065536', isDefault: false })
      expect(one?.configs.get('min.insync.replicas')?.isDefault).toBe(true)
    }))
})

describe('bindings together', () => {
  test('share one dead letter topic that suits the most demanding of them', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'chats', 2)
      await createSource(admin, 'messages', 6, { 'max.message.bytes': '3000000' })
      await ensure(admin, 'CREATE', fanout('chats'), fanout('messages'))
      const [view] = requireAllDone('', await admin.describeTopics(['dead_letters']))
      expect(view?.partitions).toHaveLength(6)
      const [one] = requireAllDone('', await admin.describeConfigs(['dead_letters']))
      expect(one?.configs.get('max.message.bytes')?.value).toBe('3065536')
    }))

  test('may read the dead letters of each other, which are created first', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 2)
      const retry = { tiers: [] }
      const care = { topic: 'orders.DLT', groupId: 'care', retry }
      const archive = { topic: 'orders.DLT.DLT', groupId: 'archive', retry }
      await ensure(admin, 'CREATE', archive, care, { topic: 'orders', retry })
      expect(await partitionsUnder(admin, 'orders')).toEqual({ DLT: 2, 'DLT.DLT': 2, 'DLT.DLT.DLT': 2 })
    }))

  test('with more members than partitions lead to a warning', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 2)
      expect(await ensure(admin, 'CREATE', { topic: 'orders', concurrency: 3 })).toEqual([
        'binding binding-0: concurrency 3 exceeds the 2 partitions of orders: the remaining members are idle',
      ])
      expect(await ensure(admin, 'CREATE', { topic: 'orders', concurrency: 2 })).toEqual([])
      await createSource(admin, 'parcels', 1)
      expect(await ensure(admin, 'CREATE', { topic: 'parcels', concurrency: 2 })).toEqual([
        'binding binding-0: concurrency 2 exceeds the one partition of parcels: the remaining members are idle',
      ])
    }))
})

describe('the cluster', () => {
  test('is not asked at all with ASSUME', () =>
    runOnSim(async ({ admin }, sim) => {
      using _ = sim.stall({ api: 'Metadata' })
      expect(await ensure(admin, 'ASSUME', { topic: 'missing' })).toEqual([])
    }))

  test('is looked at again when the answer to a creation is lost', () =>
    runOnSim(async ({ admin, runtime }, sim) => {
      await createSource(admin, 'orders', 2)
      const lost = sim.dropResponses({ api: 'CreateTopics' })
      const end = runtime.timers.schedule(45_000, () => lost[Symbol.dispose]())
      await ensure(admin, 'CREATE', { topic: 'orders', retry: { tiers } })
      end[Symbol.dispose]()
      expect(await partitionsUnder(admin, 'orders')).toEqual({ DLT: 2, 'retry-1': 2 })
    }))

  test('may get the same topics from several instances that start at once', () =>
    runOnSim(async ({ admin }) => {
      await createSource(admin, 'orders', 2)
      const all = [1, 2, 3].map(() => ensure(admin, 'CREATE', { topic: 'orders', retry: { tiers } }))
      expect(await Promise.all(all)).toEqual([[], [], []])
      expect(await partitionsUnder(admin, 'orders')).toEqual({ DLT: 2, 'retry-1': 2 })
    }))

  test('that never responds to a creation is reported as such', () =>
    runOnSim(async ({ admin }, sim) => {
      await createSource(admin, 'orders', 2)
      using _ = sim.stall({ api: 'CreateTopics' })
      await expect(ensure(admin, 'CREATE', { topic: 'orders' })).rejects.toMatchObject({
        code: 'WAYBILL_KAFKA_PARTIAL_FAILURE',
      })
    }))
})
