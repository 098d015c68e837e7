import { describe, expect, test } from 'vitest'
import { defineTopology } from '../../src/topology/define-topology.ts'
import { planTopology } from '../../src/topology/plan-topology.ts'
import { renderPlan } from '../../src/topology/render-plan.ts'

const entries = (configs: Record<string, string>) =>
  new Map(Object.entries(configs).map(([name, value]) => [name, { value, isDefault: true }]))

describe('a plan as text', () => {
  test('says in a line that there is nothing to do', () => {
    expect(renderPlan({ steps: [], warnings: [] })).toBe('The cluster is as declared.')
  })

  test('counts, then says each thing on a line of its own', () => {
    const topology = defineTopology({
      topics: [
        { name: 'orders', partitions: 64, configs: { 'retention.ms': 604_800_000, 'min.insync.replicas': 2 } },
        {
          name: 'orders.retry-1',
          role: 'TIER',
          source: 'orders',
          delayMs: 60_000,
          configs: { 'min.insync.replicas': 2 },
        },
        { name: 'orders.DLT', role: 'DLT', partitions: 1, replication: 1, configs: { 'retention.ms': 1_000 } },
      ],
    })
    const actual = new Map([
      [
        'orders',
        { partitions: 32, replication: 2, configs: entries({ 'retention.ms': '1', 'min.insync.replicas': '2' }) },
      ],
    ])
    expect(renderPlan(planTopology(topology, actual))).toBe(
      [
        'The cluster differs: 2 to create, 1 to change, 2 refused, 2 to check.',
        '  ! orders: 32 partitions, declared 64: counts are never changed in place: the keys of 2048 of 4096 buckets ' +
          'would change their partition and lose their order; declare the count it has, or migrate to a new topic',
        "  ? orders: replication 2, declared 3: move replicas with Kafka's own tools",
        '  ~ orders: retention.ms 1 -> 604800000',
        '  + orders.retry-1: TIER, 8 partitions, replication 3',
        '      cleanup.policy=delete',
        '      retention.ms=-1',
        '      min.insync.replicas=2',
        '      max.message.bytes=1114124',
        '  + orders.DLT: DLT, 1 partition, replication 1',
        '      cleanup.policy=delete',
        '      retention.ms=1000',
        '  ! orders.DLT: retention.ms 1000: records would be deleted before they are handled; use -1, or at least 518400000: ' +
          '2 x (delay + longest pause)',
        '  ? orders.DLT: replication 1: losing one broker loses its records; use 3, or environment: DEV',
      ].join('\n'),
    )
  })

  test('marks what the plan itself fixes', () => {
    const topology = defineTopology({
      environment: 'DEV',
      topics: [{ name: 'tier', role: 'TIER', partitions: 1, delayMs: 5 }],
    })
    const actual = new Map([
      [
        'tier',
        { partitions: 1, replication: 1, configs: entries({ 'retention.ms': '9', 'cleanup.policy': 'delete' }) },
      ],
    ])
    expect(renderPlan(planTopology(topology, actual))).toMatch(
      /~ tier: retention.ms 9 -> -1\n {2}! tier: retention.ms 9: .* \(fixed by a change in this plan\)$/,
    )
  })

  test('says that a waiting topic has no source', () => {
    const topology = defineTopology({
      environment: 'DEV',
      topics: [{ name: 'w', role: 'WAITING', partitions: 1, source: 'gone' }],
    })
    expect(renderPlan(planTopology(topology, new Map()))).toContain(
      '! w: source: its source is neither declared nor on the cluster',
    )
  })
})
