import { errorCode, type KafkaApi } from '@waybill/kafka/wire'
import { createVirtualRuntime } from '@waybill/sim'
import { runOnSim } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import {
  type AdminResult,
  adminResultsOf,
  PartialFailureError,
  requireAllDone,
} from '../../../src/client/admin/admin-result.ts'
import { createAdmin } from '../../../src/client/admin/create-admin.ts'
import { createCluster } from '../../../src/client/cluster/cluster.ts'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { createNodes } from '../../../src/client/cluster/nodes.ts'
import { type Reaction, ScriptTransport } from '../scripted-transport.ts'
import { describeAdminBehaviour } from './admin-behaviour.ts'

describe('an admin of a simulated cluster', () => {
  describeAdminBehaviour((program) => runOnSim(program))
})

const reasonsOf = (outcomes: readonly AdminResult[]): (string | undefined)[] =>
  outcomes.map((one) => (one.outcome === 'DONE' ? 'DONE' : (one.error.reason ?? one.error.kind)))

describe('when something is in the way', () => {
  test.each([
    ['CreateTopics', errorCode.NOT_CONTROLLER],
    ['CreateTopics', errorCode.THROTTLING_QUOTA_EXCEEDED],
    ['ListOffsets', errorCode.NOT_LEADER_OR_FOLLOWER],
  ] satisfies [KafkaApi, number][])('%s that is refused for the moment (%i) is asked again', async (api, code) => {
    await runOnSim(async ({ admin }, sim) => {
      sim.failNext(api, code)
      expect(await admin.createTopics([{ topic: 'a', partitions: 2, replication: 1 }])).toEqual([
        { topic: 'a', outcome: 'DONE' },
      ])
    })
  })

  test('a creation whose answer is lost is unknown, and is not tried a second time', async () => {
    await runOnSim(async ({ admin }, sim) => {
      using _ = sim.dropResponses({ api: 'CreateTopics' })
      const [unknown] = await adminResultsOf(admin.createTopics([{ topic: 'a', partitions: 1, replication: 1 }]))
      expect(unknown).toMatchObject({ outcome: 'FAILED', error: { kind: 'UNKNOWN' } })
      // It was done, and only once: a second try would have said that it exists.
      expect(await admin.listTopics()).toEqual(['a'])
    })
  })

  test.each([-1n, -5n, 2n ** 63n, 5])('records before %s are not deleted: the offset is refused', async (before) => {
    await runOnSim(async ({ admin, write }, sim) => {
      sim.createTopic('a')
      await write('a', 0, [1, 2])
      const partitions = [{ topic: 'a', partition: 0, before: before as bigint }]
      await expect(admin.deleteRecords(partitions)).rejects.toThrow('must be from 0n')
      expect(await admin.listOffsets([{ topic: 'a', partition: 0 }], 'EARLIEST')).toMatchObject([{ offset: 0n }])
    })
  })

  test('deleting up to the end is not repeated either: records may have come since', async () => {
    await runOnSim(async ({ admin, write }, sim) => {
      sim.createTopic('a')
      await write('a', 0, [1, 2])
      using _ = sim.dropResponses({ api: 'DeleteRecords' })
      const outcomes = await adminResultsOf(admin.deleteRecords([{ topic: 'a', partition: 0, before: 'END' }]))
      expect(outcomes).toMatchObject([{ outcome: 'FAILED', error: { kind: 'UNKNOWN' } }])
      expect(sim.faultCounts.get('DeleteRecords LOST_RESPONSE')).toBe(1)
    })
  })

  test('a question whose answer is lost is asked again', async () => {
    await runOnSim(async ({ admin, runtime }, sim) => {
      sim.createTopic('a')
      const lost = sim.dropResponses({ api: 'ListOffsets' })
      runtime.timers.schedule(200, () => lost[Symbol.dispose]())
      expect(await admin.listOffsets([{ topic: 'a', partition: 0 }], 'LATEST')).toMatchObject([{ offset: 0n }])
    })
  })

  test('a missing topic is answered at once, not at the deadline', async () => {
    await runOnSim(async ({ admin, runtime }) => {
      const before = runtime.clock.monotonic()
      expect(reasonsOf(await admin.describeTopics(['gone']))).toEqual(['UNKNOWN_TOPIC_OR_PARTITION'])
      expect(reasonsOf(await admin.describeConfigs(['gone']))).toEqual(['UNKNOWN_TOPIC_OR_PARTITION'])
      expect(reasonsOf(await adminResultsOf(admin.deleteTopics(['gone'])))).toEqual(['UNKNOWN_TOPIC_OR_PARTITION'])
      expect(reasonsOf(await admin.listOffsets([{ topic: 'gone', partition: 0 }], 'LATEST'))).toEqual([
        'UNKNOWN_TOPIC_OR_PARTITION',
      ])
      expect(runtime.clock.monotonic() - before).toBeLessThan(1_000)
    })
  })

  test('a leader that moves is found', async () => {
    await runOnSim(
      async ({ admin, write }, sim) => {
        sim.createTopic('a', { partitions: 1 })
        await write('a', 0, [1, 2, 3])
        sim.moveLeader('a', 0, 2)
        expect(await admin.listOffsets([{ topic: 'a', partition: 0 }], 'LATEST')).toMatchObject([{ offset: 3n }])
      },
      { brokers: 3 },
    )
  })

  test('a coordinator that moves is found', async () => {
    await runOnSim(
      async ({ admin }, sim) => {
        sim.createTopic('a')
        for (const node of [1, 2, 3]) {
          requireAllDone('', await admin.alterGroupOffsets('g', [{ topic: 'a', partition: 0, offset: BigInt(node) }]))
          sim.moveCoordinator('GROUP', 'g', node)
          expect(await admin.groupOffsets('g')).toMatchObject([{ committed: BigInt(node) }])
          sim.moveCoordinator('GROUP', 'g', (node % 3) + 1)
          expect(await admin.describeGroups(['g'])).toMatchObject([{ groupState: 'Empty' }])
        }
        sim.moveCoordinator('GROUP', 'g', 2)
        expect(reasonsOf(await admin.deleteGroups(['g']))).toEqual(['DONE'])
      },
      { brokers: 3 },
    )
  })

  test('a broker that is down fails its own partitions, at the deadline; the others are answered', async () => {
    await runOnSim(
      async ({ admin, runtime }, sim) => {
        sim.createTopic('a', { partitions: 3, replicationFactor: 1 })
        const all = [0, 1, 2].map((partition) => ({ topic: 'a', partition }))
        sim.killBroker(sim.partition('a', 1).leader)
        const before = runtime.clock.monotonic()
        const outcomes = await admin.listOffsets(all, 'LATEST', { deadlineMs: 2_000 })
        expect(reasonsOf(outcomes)).toEqual(['DONE', 'LEADER_NOT_AVAILABLE', 'DONE'])
        expect(runtime.clock.monotonic() - before).toBeLessThanOrEqual(2_000)
      },
      { brokers: 3 },
    )
  })

  test('a list of groups that would be short is refused, naming the broker', async () => {
    await runOnSim(
      async ({ admin }, sim) => {
        using _ = sim.stall({ api: 'ListGroups', node: 2 })
        await expect(admin.listGroups({ deadlineMs: 1_000 })).rejects.toThrow(/groups of sim:2 cannot be listed/)
      },
      { brokers: 3 },
    )
  })

  test('every call ends at its deadline, whatever the cluster does', async () => {
    await runOnSim(async ({ admin, runtime }, sim) => {
      sim.createTopic('a')
      using _ = sim.stall({})
      const calls: [string, () => Promise<unknown>][] = [
        [
          'createTopics',
          () => admin.createTopics([{ topic: 'b', partitions: 1, replication: 1 }], { deadlineMs: 500 }),
        ],
        ['deleteTopics', () => admin.deleteTopics(['a'], { deadlineMs: 500 })],
        ['listTopics', () => admin.listTopics({ deadlineMs: 500 })],
        ['describeConfigs', () => admin.describeConfigs(['a'], { deadlineMs: 500 })],
        ['listOffsets', () => admin.listOffsets([{ topic: 'a', partition: 0 }], 'LATEST', { deadlineMs: 500 })],
        ['groupOffsets', () => admin.groupOffsets('g', undefined, { deadlineMs: 500 })],
        ['listGroups', () => admin.listGroups({ deadlineMs: 500 })],
        ['describeGroups', () => admin.describeGroups(['g'], { deadlineMs: 500 })],
      ]
      for (const [name, call] of calls) {
        const before = runtime.clock.monotonic()
        const settled = await call().catch((error: unknown) => error)
        const failures = Array.isArray(settled) ? reasonsOf(settled as AdminResult[]) : [settled]
        expect([name, failures]).not.toEqual([name, ['DONE']])
        expect([name, runtime.clock.monotonic() - before <= 501]).toEqual([name, true])
      }
    })
  })
})

const broker = (id: number) => ({ nodeId: id, host: 'n', port: id })

function setUp(react: (address: string, api: KafkaApi, request: never) => Reaction, signal?: AbortSignal) {
  const runtime = createVirtualRuntime(1)
  const transport = new ScriptTransport((address, api, request) =>
    request === null ? 'SWALLOW' : react(address, api, request as never),
  )
  const nodes = createNodes(transport, 'test', runtime)
  const cluster = createCluster(nodes, [{ host: 'n', port: 1 }], runtime)
  const admin = createAdmin({ cluster, nodes, runtime, ...(signal === undefined ? {} : { signal }) })
  return { admin, runtime, transport, nodes }
}

const metadata = (topics: readonly { name: string; leaders: readonly number[] }[], nodeIds = [1]): Reaction => ({
  answer: {
    brokers: nodeIds.map(broker),
    clusterId: null,
    controllerId: 1,
    topics: topics.map(({ name, leaders }) => ({
      errorCode: leaders.length === 0 ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.NONE,
      name,
      topicId: 'id',
      isInternal: false,
      partitions: leaders.map((leaderId, partitionIndex) => ({
        errorCode: 0,
        partitionIndex,
        leaderId,
        leaderEpoch: 0,
        replicaNodes: [leaderId],
        isrNodes: [leaderId],
      })),
    })),
  },
})

interface OffsetsRequest {
  readonly topics: readonly { name: string; partitions: readonly { partitionIndex: number }[] }[]
}
const offsets = ({ topics }: OffsetsRequest, code: number = errorCode.NONE): Reaction => ({
  answer: {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode: code,
        timestamp: -1n,
        offset: 5n,
        leaderEpoch: 0,
      })),
    })),
  },
})

describe('on scripted brokers', () => {
  test('offsets are asked for with one request to each leader', async () => {
    const { admin, runtime, transport } = setUp((_, api, request) =>
      api === 'Metadata' ? metadata([{ name: 'a', leaders: [1, 2, 3, 1, 2, 3, 1] }], [1, 2, 3]) : offsets(request),
    )
    const all = [0, 1, 2, 3, 4, 5, 6].map((partition) => ({ topic: 'a', partition }))
    const found = await runtime.run(() => admin.listOffsets(all, 'LATEST'))
    expect(found).toEqual(all.map((one) => ({ ...one, outcome: 'DONE', offset: 5n })))
    const asked = transport.asked.filter(({ api }) => api === 'ListOffsets').map(({ address }) => address)
    expect(asked.toSorted()).toEqual(['n:1', 'n:2', 'n:3'])
  })

  test('a topic counts as created once it is known, complete, led, and its leaders answer', async () => {
    // Successive responses of the broker; the last one repeats.
    const views: (readonly number[])[] = [[], [1], [1, -1], [1, 1]]
    let refusals = 2
    const { admin, runtime, transport } = setUp((_, api, request: OffsetsRequest) => {
      if (api === 'CreateTopics') return { answer: { topics: [{ name: 'a', errorCode: 0, errorMessage: null }] } }
      if (api === 'ListOffsets')
        return offsets(request, refusals-- > 0 ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.NONE)
      if ((request.topics as readonly unknown[]).length === 0) return metadata([])
      return metadata([{ name: 'a', leaders: (views.length > 1 ? views.shift() : views[0]) ?? [] }])
    })
    const created = runtime.run(() => admin.createTopics([{ topic: 'a', partitions: 2, replication: 1 }]))
    expect(await created).toEqual([{ topic: 'a', outcome: 'DONE' }])
    expect(views).toEqual([[1, 1]])
    expect(refusals).toBeLessThan(0)
    const tried = transport.asked
      .filter(({ api }) => api === 'ListOffsets')
      .flatMap(({ request }) => (request as OffsetsRequest).topics.flatMap(({ partitions }) => partitions))
    expect(new Set(tried.map(({ partitionIndex }) => partitionIndex))).toEqual(new Set([0, 1]))
    expect(transport.asked.filter(({ api }) => api === 'CreateTopics')).toHaveLength(1)
  })

  test('a topic counts as created once every broker knows it, and as deleted once none does', async () => {
    // Remaining requests to the second broker before it learns of the change.
    let unheard = 3
    let isDeleted = false
    const { admin, runtime } = setUp((address, api, request: OffsetsRequest) => {
      if (api === 'CreateTopics' || api === 'DeleteTopics') {
        isDeleted = api === 'DeleteTopics'
        unheard = 3
        return { answer: { topics: [{ name: 'a', errorCode: 0, errorMessage: null }] } }
      }
      if (api === 'ListOffsets') return offsets(request)
      if ((request.topics as readonly unknown[]).length === 0) return metadata([], [1, 2])
      const hasHeard = address === 'n:1' || unheard-- <= 0
      return metadata([{ name: 'a', leaders: hasHeard === isDeleted ? [] : [1] }], [1, 2])
    })
    const created = await runtime.run(() => admin.createTopics([{ topic: 'a', partitions: 1, replication: 1 }]))
    expect(created).toEqual([{ topic: 'a', outcome: 'DONE' }])
    expect(unheard).toBeLessThan(0)
    expect(await runtime.run(() => admin.deleteTopics(['a']))).toEqual([{ topic: 'a', outcome: 'DONE' }])
    expect(unheard).toBeLessThan(0)
  })

  test('a broker that says nothing is not waited for', async () => {
    const { admin, runtime } = setUp((address, api, request: OffsetsRequest) => {
      if (address === 'n:2') return 'SWALLOW'
      if (api === 'CreateTopics') return { answer: { topics: [{ name: 'a', errorCode: 0, errorMessage: null }] } }
      if (api === 'ListOffsets') return offsets(request)
      return metadata((request.topics as readonly unknown[]).length === 0 ? [] : [{ name: 'a', leaders: [1] }], [2, 1])
    })
    const [created] = await runtime.run(() => admin.createTopics([{ topic: 'a', partitions: 1, replication: 1 }]))
    expect(created).toEqual({ topic: 'a', outcome: 'DONE' })
  })

  test('one that never gets a leader is said to be created and not ready', async () => {
    const { admin, runtime } = setUp((_, api, request: OffsetsRequest) => {
      if (api === 'CreateTopics') return { answer: { topics: [{ name: 'a', errorCode: 0, errorMessage: null }] } }
      return metadata((request.topics as readonly unknown[]).length === 0 ? [] : [{ name: 'a', leaders: [-1] }])
    })
    const [late] = await runtime.run(() =>
      adminResultsOf(admin.createTopics([{ topic: 'a', partitions: 1, replication: 1 }], { deadlineMs: 3_000 })),
    )
    expect(late).toMatchObject({
      outcome: 'FAILED',
      error: { kind: 'RETRIABLE', impact: 'The partitions were created.' },
    })
    expect(runtime.clock.monotonic()).toBeLessThanOrEqual(3_000)
  })

  test('what an answer leaves out has failed', async () => {
    const { admin, runtime } = setUp((_, api) => (api === 'DeleteTopics' ? { answer: { topics: [] } } : metadata([])))
    expect(await runtime.run(() => adminResultsOf(admin.deleteTopics(['a'])))).toMatchObject([
      { topic: 'a', outcome: 'FAILED', error: { kind: 'FATAL' } },
    ])
  })

  test('a group that is called dead and listed as living is described by what the list says', async () => {
    const dead = { errorCode: 0, groupState: 'Dead', protocolType: '', protocolData: '', members: [] }
    const { admin, runtime } = setUp((_, api, request: { groups: string[] }) => {
      if (api === 'FindCoordinator') return { answer: { errorCode: 0, errorMessage: null, ...broker(1) } }
      if (api === 'DescribeGroups')
        return { answer: { groups: request.groups.map((groupId) => ({ ...dead, groupId })) } }
      const groups = [{ groupId: 'next', protocolType: 'consumer', groupState: 'Stable', groupType: 'consumer' }]
      return { answer: { errorCode: 0, groups } }
    })
    const [next, gone] = await runtime.run(() => admin.describeGroups(['next', 'gone']))
    expect(next).toMatchObject({ outcome: 'DONE', groupState: 'Stable', groupType: 'CONSUMER', members: null })
    expect(gone).toMatchObject({ outcome: 'FAILED', error: { reason: 'GROUP_ID_NOT_FOUND' } })
  })

  test('closing ends the wait between two tries at once', async () => {
    const closing = new AbortController()
    const { admin, runtime } = setUp(
      (_, api) =>
        api === 'FindCoordinator'
          ? { answer: { errorCode: errorCode.COORDINATOR_NOT_AVAILABLE, errorMessage: null, ...broker(1) } }
          : metadata([]),
      closing.signal,
    )
    runtime.timers.schedule(1_500, () => closing.abort(new Error('closed')))
    await expect(runtime.run(() => admin.groupOffsets('g'))).rejects.toThrow('closed')
    expect(runtime.clock.monotonic()).toBe(1_500)
  })
})

describe('outcomes as one error', () => {
  const error = new KafkaError('No.', 'FATAL')

  test('name every failure, and what was done', () => {
    const outcomes = [
      { topic: 'a', outcome: 'DONE' as const },
      { topic: 'b', outcome: 'FAILED' as const, error },
      { topic: 'c', partition: 2, outcome: 'FAILED' as const, error },
      { groupId: 'g', outcome: 'FAILED' as const, error },
    ]
    try {
      requireAllDone('Tidying', outcomes)
      expect.unreachable()
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(PartialFailureError)
      const { message, failures, outcomes: all } = thrown as PartialFailureError
      expect(all).toEqual(outcomes)
      expect(message).toBe('Tidying: 3 of 4 failed:\n  b, c-2, g: No.\n  The others were done.')
      expect(failures.map(({ subject }) => subject)).toEqual(['b', 'c-2', 'g'])
    }
  })

  test('are answered in its place, and every other error stays one', async () => {
    const outcomes = [{ topic: 'b', outcome: 'FAILED' as const, error }]
    expect(await adminResultsOf((async () => requireAllDone('Tidying', outcomes))())).toEqual(outcomes)
    await expect(adminResultsOf(Promise.reject(error))).rejects.toBe(error)
  })

  test('are handed on when all are done', () => {
    const outcomes = [{ topic: 'a', outcome: 'DONE' as const, configs: 1 }]
    expect(requireAllDone('Looking', outcomes)).toEqual(outcomes)
  })
})
