import { OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { defineTopology, parseTopology } from '../../src/topology/define-topology.ts'
import type { Topology } from '../../src/topology/topology.ts'

/** The chat's topics as a YAML or JSON file has them: numbers are numbers. */
const chat = {
  topics: [
    {
      name: 'messages.persisted',
      partitions: 64,
      replication: 3,
      configs: {
        'cleanup.policy': 'delete',
        'retention.ms': 604_800_000,
        'retention.bytes': 107_374_182_400,
        'min.insync.replicas': 2,
        'message.timestamp.type': 'CreateTime',
        'unclean.leader.election.enable': false,
      },
    },
    { name: 'dead_letters', role: 'DLT', partitions: 8, configs: { 'retention.ms': 2_592_000_000 } },
  ],
}

function violationsOf(value: unknown): Record<string, string> {
  try {
    parseTopology(value)
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    return Object.fromEntries((error as OptionsError).violations.map(({ path, problem }) => [path, problem]))
  }
  return expect.unreachable('the topology was accepted')
}

const only = (topology: Topology) => topology.topics[0]

describe('a topology', () => {
  test('read from a file declares partitions, replication and explicit configs as Kafka writes them', () => {
    const { topics, environment, longestPauseMs } = parseTopology(JSON.parse(JSON.stringify(chat)))
    expect(environment).toBe('PRODUCTION')
    expect(longestPauseMs).toBe(259_200_000)
    expect(topics[0]).toEqual({
      name: 'messages.persisted',
      role: 'SOURCE',
      partitions: 64,
      replication: 3,
      configs: new Map([
        ['cleanup.policy', 'delete'],
        ['retention.ms', '604800000'],
        ['retention.bytes', '107374182400'],
        ['min.insync.replicas', '2'],
        ['message.timestamp.type', 'CreateTime'],
        ['unclean.leader.election.enable', 'false'],
      ]),
      source: undefined,
      delayMs: 0,
    })
  })

  test('is the same from TypeScript', () => {
    expect(defineTopology({ topics: [{ name: 'a', partitions: 2 }] })).toEqual(
      parseTopology({ topics: [{ name: 'a', partitions: 2 }] }),
    )
  })

  test('cannot be changed', () => {
    const topology = defineTopology({ topics: [{ name: 'a', partitions: 2 }] })
    expect([topology, topology.topics, only(topology)].every(Object.isFrozen)).toBe(true)
  })

  test('has three copies of everything, one in DEV', () => {
    const topics = [{ name: 'a', partitions: 1 }]
    expect(only(defineTopology({ topics }))?.replication).toBe(3)
    expect(only(defineTopology({ topics, environment: 'DEV' }))?.replication).toBe(1)
  })

  test('gives derived topics what follows from their source', () => {
    const { topics } = defineTopology({
      topics: [
        { name: 'orders', partitions: 64, replication: 2, configs: { 'max.message.bytes': 2_000_000 } },
        { name: 'orders.retry-1', role: 'TIER', source: 'orders', delayMs: 60_000 },
        { name: 'orders.DLT', role: 'DLT', source: 'orders', configs: { 'retention.ms': 1 } },
        { name: 'orders.billing.waiting', role: 'WAITING', source: 'orders' },
      ],
    })
    const kept = [
      ['cleanup.policy', 'delete'],
      ['retention.ms', '-1'],
      ['max.message.bytes', '2065536'],
    ] as const
    expect(topics.slice(1)).toMatchObject([
      { role: 'TIER', partitions: 8, replication: 2, delayMs: 60_000, configs: new Map(kept) },
      { role: 'DLT', partitions: 8, replication: 2, delayMs: 0 },
      { role: 'WAITING', partitions: 64, replication: 2, configs: new Map(kept) },
    ])
    expect(topics[2]?.configs.get('retention.ms')).toBe('1')
  })
})

describe('a topology that is wrong', () => {
  test('says everything that is wrong at once, with the path', () => {
    expect(
      violationsOf({
        enviroment: 'DEV',
        longestPauseMs: -1,
        topics: [
          { name: 'not a name', partitions: 0, role: 'SORCE' },
          { partitions: 1.5, configs: { 'retention.ms': null, big: 2 ** 60 } },
        ],
      }),
    ).toEqual({
      enviroment: 'is not an option; did you mean environment?',
      longestPauseMs: 'must be whole milliseconds of 0 or more, got -1',
      'topics[0].name': expect.stringContaining('must be a topic name') as string,
      'topics[0].partitions': 'must be an integer from 1 to 10000, got 0',
      'topics[0].role': expect.stringContaining('did you mean SOURCE?') as string,
      'topics[1].name': expect.stringContaining('is required') as string,
      'topics[1].partitions': 'must be an integer from 1 to 10000, got 1.5',
      'topics[1].configs["retention.ms"]': expect.stringContaining('must be a string') as string,
      'topics[1].configs.big': expect.stringContaining('must be a string') as string,
    })
  })

  test('says what does not fit the roles', () => {
    expect(
      violationsOf({
        topics: [
          { name: 'a' },
          { name: 'a', partitions: 1 },
          { name: 'x.y', partitions: 1, delayMs: 5, source: 'a' },
          { name: 'x_y', partitions: 1 },
          { name: 'tier', role: 'TIER', partitions: 1 },
          { name: 'waiting', role: 'WAITING', partitions: 1 },
          { name: 'dlt', role: 'DLT', source: 'elsewhere' },
          { name: 'own', role: 'DLT', partitions: 1, source: 'own' },
          { name: 'chain', role: 'TIER', delayMs: 1, source: 'tier' },
        ],
      }),
    ).toEqual({
      'topics[0].partitions': 'is required',
      'topics[1].name': 'is already declared: a',
      'topics[2].delayMs': 'is only for a TIER, and this is a SOURCE',
      'topics[2].source': 'is only for a TIER, WAITING or DLT, and this is a SOURCE',
      'topics[3].name': 'differs from x.y only in dots and underscores, which Kafka refuses',
      'topics[4].delayMs': 'is required for a TIER: the wait of its records',
      'topics[5].source': 'is required for a WAITING topic',
      'topics[6].partitions': 'is required where the source is not declared',
      'topics[7].source': 'names own, which is a DLT',
      'topics[8].source': 'names tier, which is a TIER',
    })
  })

  test.each([undefined, null, 'topics: []', [], { topics: [] }, { topics: [null] }])('is refused: %j', (value) => {
    expect(() => parseTopology(value)).toThrow(OptionsError)
  })

  test.each(['.', '..', 'a'.repeat(250), 'ümlaut', 'a/b', ''])('a topic is not called %j', (name) => {
    expect(Object.keys(violationsOf({ topics: [{ name, partitions: 1 }] }))).toEqual(['topics[0].name'])
  })
})
