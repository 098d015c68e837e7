import { describe, expect, test } from 'vitest'
import { defineTopology } from '../../src/topology/define-topology.ts'
import { type ActualTopic, type ActualTopology, planTopology } from '../../src/topology/plan-topology.ts'
import type { TopicDeclaration, TopologyDeclaration } from '../../src/topology/topology.ts'

const day = 86_400_000

function live(partitions: number, replication: number, configs: Record<string, string> = {}): ActualTopic {
  return {
    partitions,
    replication,
    configs: new Map(Object.entries(configs).map(([name, value]) => [name, { value, isDefault: true }])),
  }
}

const cluster = (topics: Record<string, ActualTopic> = {}): ActualTopology => new Map(Object.entries(topics))

function plan(topics: readonly TopicDeclaration[], actual: ActualTopology, more: Partial<TopologyDeclaration> = {}) {
  return planTopology(defineTopology({ ...more, topics }), actual)
}

const safe = { 'min.insync.replicas': '2' }
const orders: TopicDeclaration = { name: 'orders', partitions: 4, configs: safe }

const unsafe = (topic: TopicDeclaration, actual = cluster(), more: Partial<TopologyDeclaration> = {}) =>
  plan([orders, { ...topic, configs: { ...safe, ...topic.configs } }], actual, more).steps.flatMap((step) =>
    step.kind === 'CONFIG_UNSAFE' ? [`${step.config} ${step.value}${step.isMended ? ' fixed' : ''}`] : [],
  )

const doubts = (topic: Partial<TopicDeclaration>, actual = cluster(), more: Partial<TopologyDeclaration> = {}) =>
  plan([{ ...orders, ...topic }], actual, more).warnings.map(({ problem }) => problem.split(':')[0])

describe('a plan', () => {
  test('creates what is missing, with everything decided', () => {
    const { steps } = plan([orders], cluster())
    expect(steps).toEqual([
      {
        kind: 'CREATE',
        topic: 'orders',
        declared: {
          name: 'orders',
          role: 'SOURCE',
          partitions: 4,
          replication: 3,
          configs: new Map([['min.insync.replicas', '2']]),
          source: undefined,
          delayMs: 0,
        },
      },
    ])
  })

  test('has nothing to say when the cluster is as declared, whatever else it has', () => {
    const actual = cluster({ orders: live(4, 3, { ...safe, 'retention.ms': '604800000' }), other: live(1, 1) })
    expect(plan([orders], actual)).toEqual({ steps: [], warnings: [] })
  })

  test.each([
    ['retention.ms', '1000', '1000'],
    ['cleanup.policy', 'compact,delete', 'delete, compact'],
    ['min.cleanable.dirty.ratio', '0.5', '0.50'],
    ['unclean.leader.election.enable', 'false', 'FALSE'],
    ['segment.bytes', '9223372036854775807', '9223372036854775807'],
  ])('takes two spellings of %s for the same: %s and %s', (name, actual, declared) => {
    const topic = { ...orders, configs: { ...safe, [name]: declared } }
    expect(plan([topic], cluster({ orders: live(4, 3, { ...safe, [name]: actual }) })).steps).toEqual([])
  })

  test.each([
    ['retention.ms', '1000', '1001'],
    ['cleanup.policy', 'delete', 'compact'],
    ['flush.ms', '9223372036854775807', '9223372036854775806'],
    ['follower.replication.throttled.replicas', '', '0'],
  ])('changes %s from %j to %j', (config, from, to) => {
    const topic = { ...orders, configs: { ...safe, [config]: to } }
    expect(plan([topic], cluster({ orders: live(4, 3, { ...safe, [config]: from }) })).steps).toEqual([
      { kind: 'CONFIG_CHANGE', topic: 'orders', config, from, to },
    ])
  })

  test('changes a setting that the cluster does not list', () => {
    const topic = { ...orders, configs: { ...safe, 'retention.ms': 5 } }
    expect(plan([topic], cluster({ orders: live(4, 3, safe) })).steps).toMatchObject([{ from: null, to: '5' }])
  })

  test('never changes a partition count in place, and says what that would do', () => {
    const { steps } = plan([{ ...orders, partitions: 8 }], cluster({ orders: live(4, 3, safe) }))
    expect(steps).toMatchObject([{ kind: 'DIFFERENT_PARTITIONS', topic: 'orders', declared: 8, actual: 4 }])
    // Doubling moves exactly half of the buckets.
    expect(steps[0]).toHaveProperty('problem', expect.stringContaining('2048 of 4096 buckets'))
    expect(steps[0]).toHaveProperty('problem', expect.stringContaining('migrate to a new topic'))
  })

  test('leaves replicas to the tools that move them', () => {
    expect(plan([orders], cluster({ orders: live(4, 2, safe) })).steps).toEqual([
      { kind: 'REPLICATION_DIFFERS', topic: 'orders', declared: 3, actual: 2 },
    ])
  })
})

describe('what is unsafe', () => {
  const tier: TopicDeclaration = { name: 'orders.retry-1', role: 'TIER', source: 'orders', delayMs: 3_600_000 }
  const dlt: TopicDeclaration = { name: 'orders.DLT', role: 'DLT', source: 'orders' }
  const waiting: TopicDeclaration = { name: 'orders.g.waiting', role: 'WAITING', source: 'orders' }

  const least = 2 * (3_600_000 + 3 * day)

  test.each([
    [-1, []],
    [least, []],
    [least - 1, [`retention.ms ${least - 1}`]],
    [7 * day, []],
    [0, ['retention.ms 0']],
  ])('a tier that keeps its records for %i ms', (retention, found) => {
    expect(unsafe({ ...tier, configs: { 'retention.ms': retention } })).toEqual(found)
  })

  test('a longer pause asks for more', () => {
    const topic = { ...tier, configs: { 'retention.ms': 7 * day } }
    expect(unsafe(topic, cluster(), { longestPauseMs: 4 * day })).toEqual([`retention.ms ${7 * day}`])
  })

  test.each([
    [30 * day, []],
    [6 * day, []],
    [6 * day - 1, [`retention.ms ${6 * day - 1}`]],
  ])('a dead letter topic that keeps its records for %i ms', (retention, found) => {
    expect(unsafe({ ...dlt, configs: { 'retention.ms': retention } })).toEqual(found)
  })

  test.each([tier, dlt, waiting])('compacting $role', (topic) => {
    expect(unsafe({ ...topic, configs: { 'cleanup.policy': 'compact,delete' } })).toEqual([
      'cleanup.policy compact,delete',
    ])
  })

  test('a source may be compacted and forget', () => {
    const source = { ...orders, configs: { ...safe, 'cleanup.policy': 'compact', 'retention.ms': 1 } }
    expect(plan([source], cluster()).steps.map(({ kind }) => kind)).toEqual(['CREATE'])
  })

  test('a waiting topic that forgets, by time or by size', () => {
    const configs = { 'retention.ms': 30 * day, 'retention.bytes': 1_000_000_000 }
    expect(unsafe({ ...waiting, configs })).toEqual([`retention.ms ${30 * day}`, 'retention.bytes 1000000000'])
  })

  test('a waiting topic that cannot hold what its source takes, also as the cluster has it', () => {
    expect(unsafe({ ...waiting, configs: { 'max.message.bytes': 1_048_588 } })).toEqual([])
    const raised = cluster({ orders: live(4, 3, { ...safe, 'max.message.bytes': '9000000' }) })
    expect(unsafe(waiting, raised)).toEqual(['max.message.bytes 1114124'])
    expect(unsafe({ ...waiting, configs: { 'max.message.bytes': 9_000_000 } }, raised)).toEqual([])
  })

  test('a waiting topic that is not partitioned as its source', () => {
    expect(unsafe({ ...waiting, partitions: 8 })).toEqual(['partitions 8'])
    // The declaration fits, the cluster does not: what counts is what will be there.
    expect(unsafe(waiting, cluster({ orders: live(6, 3, safe) }))).toEqual(['partitions 4'])
    expect(unsafe(waiting, cluster({ orders: live(6, 3, safe), 'orders.g.waiting': live(6, 3, safe) }))).toEqual([])
  })

  test('a waiting topic with an unknown source is unsafe; a source on the cluster suffices', () => {
    const lone: TopicDeclaration = { ...waiting, partitions: 4, configs: safe }
    const kinds = (actual: ActualTopology) => plan([lone], actual).steps.map((step) => step.kind)
    expect(kinds(cluster())).toEqual(['CREATE', 'CONFIG_UNSAFE'])
    expect(kinds(cluster({ orders: live(4, 3) }))).toEqual(['CREATE'])
    expect(kinds(cluster({ orders: live(5, 3) }))).toEqual(['CREATE', 'CONFIG_UNSAFE'])
  })

  test('an unsafe setting of the cluster alone is fixed by the declaration', () => {
    const actual = cluster({
      'orders.retry-1': live(4, 3, { ...safe, 'retention.ms': '3600000', 'cleanup.policy': 'compact' }),
    })
    expect(unsafe(tier, actual)).toEqual(['retention.ms 3600000 fixed', 'cleanup.policy compact fixed'])
  })

  test('what the cluster has and the declaration repeats is not', () => {
    const actual = cluster({ 'orders.retry-1': live(4, 3, { ...safe, 'retention.ms': '60000' }) })
    expect(unsafe({ ...tier, configs: { 'retention.ms': 3_600_000 } }, actual)).toEqual(['retention.ms 3600000'])
  })
})

describe('what deserves a look', () => {
  test('one copy, outside of DEV', () => {
    const single = { replication: 1, configs: { 'min.insync.replicas': '1' } }
    expect(doubts(single)).toEqual(['replication 1'])
    expect(doubts(single, cluster(), { environment: 'DEV' })).toEqual([])
  })

  test('min.insync.replicas 1 with three replicas, declared or by default', () => {
    expect(doubts({ configs: { 'min.insync.replicas': 1 } })).toEqual(['min.insync.replicas 1'])
    expect(doubts({ configs: {} })).toEqual([expect.stringMatching(/^min\.insync\.replicas is not declared/)])
    expect(doubts({ configs: {} }, cluster({ orders: live(4, 3, safe) }))).toEqual([])
    expect(doubts({ replication: 2, configs: {} })).toEqual([])
  })

  test('more confirmations than there are copies', () => {
    expect(doubts({ replication: 2, configs: { 'min.insync.replicas': 3 } })).toEqual(['min.insync.replicas 3'])
    expect(doubts({ replication: 2, configs: { 'min.insync.replicas': 2 } })).toEqual([])
  })

  test('leaders that missed records', () => {
    expect(doubts({ configs: { ...safe, 'unclean.leader.election.enable': true } })).toEqual([
      'unclean.leader.election.enable',
    ])
  })

  test('dead letters that size can push out, or that the largest records cannot enter', () => {
    const configs = { ...safe, 'retention.bytes': 50_000_000_000, 'max.message.bytes': 1_000 }
    const source = { ...orders, configs: { ...safe, 'max.message.bytes': 2_000 } }
    const { steps, warnings } = plan([source, { name: 'dlt', role: 'DLT', source: 'orders', configs }], cluster())
    expect(steps.map(({ kind }) => kind)).toEqual(['CREATE', 'CREATE'])
    expect(warnings.map(({ problem }) => problem.split(' ')[0])).toEqual(['retention.bytes', 'max.message.bytes'])
  })

  test('an undeclared override on the cluster', () => {
    const configs = new Map([
      ['min.insync.replicas', { value: '2', isDefault: false }],
      ['segment.ms', { value: '5', isDefault: false }],
      ['flush.ms', { value: '7', isDefault: true }],
    ])
    expect(doubts({}, cluster({ orders: { partitions: 4, replication: 3, configs } }))).toEqual([
      'segment.ms=5 is set on the cluster and not declared',
    ])
  })
})
