import {
  AuthenticationError,
  errorCode,
  type KafkaApi,
  type KafkaTransport,
  type MetadataResponse,
} from '@waybill/kafka/wire'
import { createVirtualRuntime } from '@waybill/sim'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { createCluster } from '../../../src/client/cluster/cluster.ts'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { createNodes } from '../../../src/client/cluster/nodes.ts'
import { type Reaction, ScriptTransport } from '../scripted-transport.ts'

type React = (address: string, api: KafkaApi, request: unknown) => Reaction | null

watchRejections()

function setUp(react: React, bootstrap = ['boot:1'], seed = 1) {
  const runtime = createVirtualRuntime(seed)
  const transport = new ScriptTransport(react)
  const nodes = createNodes(transport, 'test', runtime)
  const addresses = bootstrap.map((text) => ({ host: text.split(':')[0] ?? '', port: Number(text.split(':')[1]) }))
  return { runtime, transport, nodes, cluster: createCluster(nodes, addresses, runtime) }
}

type Topic = MetadataResponse['topics'][number]

function topic(name: string, leaders: readonly number[], over: Partial<Topic> = {}): Topic {
  const partitions = leaders.map((leaderId, partitionIndex) => ({
    errorCode: leaderId < 0 ? errorCode.LEADER_NOT_AVAILABLE : errorCode.NONE,
    partitionIndex,
    leaderId,
    leaderEpoch: 7,
    replicaNodes: [1],
    isrNodes: [1],
  }))
  return { errorCode: errorCode.NONE, name, topicId: `id-${name}`, isInternal: false, partitions, ...over }
}

const missing = (name: string): Topic => topic(name, [], { errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION })

function metadata(brokerCount: number, topics: readonly Topic[] = [], host = 'n'): { answer: MetadataResponse } {
  const brokers = Array.from({ length: brokerCount }, (_, at) => ({
    nodeId: at + 1,
    host: `${host}${at + 1}`,
    port: 1,
  }))
  return { answer: { brokers, clusterId: 'c', controllerId: 1, topics } }
}

const at = (host: string, code: number = errorCode.NONE): Reaction => ({
  answer: { errorCode: code, errorMessage: null, nodeId: 1, host, port: 1 },
})

const fails = (promise: Promise<unknown>): Promise<KafkaError> =>
  promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(KafkaError)
      return error as KafkaError
    },
  )

/** A topic whose partitions have these numbers. */
const numbered = (...indexes: readonly number[]): Topic => {
  const honest = topic(
    'a',
    indexes.map(() => 1),
  )
  const partitions = honest.partitions.map((one, place) => ({ ...one, partitionIndex: indexes[place] ?? -1 }))
  return { ...honest, partitions }
}

/** A cluster in which some nodes refuse the login, and one is down. */
const refusing = (...addresses: readonly string[]) => {
  const runtime = createVirtualRuntime(1)
  const script = new ScriptTransport((address) => (address === 'down:1' ? null : metadata(1, [topic('a', [1])])))
  const transport: KafkaTransport = {
    connect: async (node) => {
      if (addresses.includes(node.host)) throw new AuthenticationError('The login failed.', 'NOT_SENT')
      return script.connect(node)
    },
  }
  const find = (...hosts: readonly string[]): Promise<unknown> => {
    const bootstrap = hosts.map((host) => ({ host, port: 1 }))
    const cluster = createCluster(createNodes(transport, 'test', runtime), bootstrap, runtime)
    return runtime.run(() => cluster.topics(['a'], 1_000).catch((error: unknown) => error))
  }
  return { find }
}

describe('topics', () => {
  test('are asked for once, all in one request, and then known', async () => {
    const { transport, cluster, runtime } = setUp(() => metadata(2, [topic('a', [1, 2]), topic('b', [2])]))
    const found = await runtime.run(() => cluster.topics(['a', 'b'], 1_000))
    expect(found.get('a')).toEqual({
      name: 'a',
      topicId: 'id-a',
      isInternal: false,
      leaders: [
        { nodeId: 1, host: 'n1', port: 1, leaderEpoch: 7 },
        { nodeId: 2, host: 'n2', port: 1, leaderEpoch: 7 },
      ],
    })
    expect(await runtime.run(() => cluster.topics(['b', 'a'], 1_000))).toEqual(found)
    expect(transport.asked.map(({ request }) => request)).toEqual([{ topics: ['a', 'b'] }])
    expect(cluster.known('a')).toBe(found.get('a'))
  })

  test('a topic that does not exist is left out and does not fail the others', async () => {
    const { cluster, runtime } = setUp(() => metadata(1, [topic('a', [1]), missing('gone')]))
    const found = await runtime.run(() => cluster.topics(['a', 'gone'], 1_000))
    expect([...found.keys()]).toEqual(['a'])
    expect(cluster.known('gone')).toBeUndefined()
  })

  test('one that was deleted is forgotten at the next refresh', async () => {
    const answers = [metadata(1, [topic('a', [1])]), metadata(1, [missing('a')])]
    const { cluster, runtime } = setUp((_address, _api, request) =>
      request === null ? 'SWALLOW' : (answers.shift() ?? null),
    )
    await runtime.run(() => cluster.topics(['a'], 1_000))
    expect((await runtime.run(() => cluster.refresh(['a'], 1_000))).size).toBe(0)
    expect(cluster.known('a')).toBeUndefined()
  })

  test('a partition without a leader is null, even if its leader is an unknown node', async () => {
    const { cluster, runtime } = setUp(() => metadata(1, [topic('a', [1, -1, 9])]))
    const found = await runtime.run(() => cluster.topics(['a'], 1_000))
    expect(found.get('a')?.leaders.map((leader) => leader?.nodeId ?? null)).toEqual([1, null, null])
  })

  test('what was called old is asked for again, the rest is not', async () => {
    const { transport, cluster, runtime } = setUp((_address, _api, request) =>
      metadata(
        1,
        ((request as { topics: string[] } | null)?.topics ?? []).map((name) => topic(name, [1])),
      ),
    )
    await runtime.run(() => cluster.topics(['a', 'b'], 1_000))
    cluster.invalidateTopic('a')
    expect(cluster.known('a')).toBeUndefined()
    await runtime.run(() => cluster.topics(['a', 'b'], 1_000))
    expect(transport.asked[1]?.request).toEqual({ topics: ['a'] })
  })

  test('the list of all replaces what was known', async () => {
    const answers = [metadata(1, [topic('a', [1])]), metadata(1, [topic('b', [1])])]
    const { cluster, runtime } = setUp((_address, _api, request) =>
      request === null ? 'SWALLOW' : (answers.shift() ?? null),
    )
    await runtime.run(() => cluster.topics(['a'], 1_000))
    expect([...(await runtime.run(() => cluster.allTopics(1_000))).keys()]).toEqual(['b'])
    expect(cluster.known('a')).toBeUndefined()
  })
})

describe('answers that cannot be true', () => {
  test.each([[[2_147_483_647]], [[0, 50_000_000]], [[-1, 0]], [[0, 0]], [[1]]])(
    'partitions numbered %j are not believed, and another node is asked',
    async (indexes) => {
      const { cluster, runtime, transport } = setUp(
        (address) => metadata(1, [address === 'liar:1' ? numbered(...indexes) : topic('a', [1, 1])]),
        ['liar:1', 'honest:1'],
      )
      const found = await runtime.run(() => cluster.topics(['a'], 1_000))
      expect(found.get('a')?.leaders).toHaveLength(2)
      expect(transport.asked.map(({ address }) => address)).toEqual(['liar:1', 'honest:1'])
    },
  )

  test('nothing is learnt when every node says so', async () => {
    const { cluster, runtime } = setUp(() => metadata(1, [numbered(5)]))
    expect(await runtime.run(() => fails(cluster.topics(['a'], 1_000)))).toMatchObject({ kind: 'RETRIABLE' })
    expect(cluster.known('a')).toBeUndefined()
  })

  test('partitions in any order are taken as they are numbered', async () => {
    const { cluster, runtime } = setUp(() => metadata(1, [numbered(2, 0, 1)]))
    const found = await runtime.run(() => cluster.topics(['a'], 1_000))
    expect(found.get('a')?.leaders).toHaveLength(3)
  })

  test('a topic without a partition and without an error is as good as none', async () => {
    const { cluster, runtime } = setUp(() => metadata(1, [topic('a', [])]))
    expect((await runtime.run(() => cluster.topics(['a'], 1_000))).size).toBe(0)
    expect(cluster.known('a')).toBeUndefined()
    expect(cluster.refusal('a')).toMatchObject({ reason: 'UNKNOWN_TOPIC_OR_PARTITION' })
  })
})

describe('nodes that do not answer', () => {
  test.each([1, 2, 3, 4, 5])('one that swallows everything leaves time for the others (seed %i)', async (seed) => {
    const { cluster, runtime } = setUp(
      (address) => (address === 'n1:1' ? 'SWALLOW' : metadata(3, [topic('a', [2])])),
      ['boot:1'],
      seed,
    )
    await runtime.run(() => cluster.topics(['a'], 1_000))
    for (let time = 0; time < 3; time++) {
      const found = await runtime.run(() => cluster.refresh(['a'], 1_000))
      expect(found.has('a')).toBe(true)
    }
  })

  test('one that was silent is asked last, so that it costs its wait once', async () => {
    let isAsleep = false
    const { cluster, runtime, transport } = setUp((address) =>
      isAsleep && address === 'n1:1' ? 'SWALLOW' : metadata(1, [topic('a', [1])]),
    )
    await runtime.run(() => cluster.topics(['a'], 1_000))
    isAsleep = true
    await runtime.run(() => cluster.refresh(['a'], 1_000))
    const before = runtime.clock.monotonic()
    await runtime.run(() => cluster.refresh(['a'], 1_000))
    expect(runtime.clock.monotonic() - before).toBe(0)
    expect(transport.asked.map(({ address }) => address)).toEqual(['boot:1', 'n1:1', 'boot:1', 'boot:1'])
  })

  test.each([1, 2, 3, 4, 5, 6])('one that answers again is asked as before (seed %i)', async (seed) => {
    let down = ''
    const { cluster, runtime, transport } = setUp(
      (address) => (address === down ? null : metadata(2, [topic('a', [1])])),
      ['n1:1'],
      seed,
    )
    for (const next of ['', 'n1:1', 'n1:1', 'n1:1', 'n2:1', 'n2:1', 'n2:1']) {
      down = next
      // A refused connection ends the ones that are open, as a restart does.
      if (next !== '') transport.cut(next)
      await runtime.run(() => cluster.refresh(['a'], 1_000))
    }
    down = ''
    await runtime.run(() => cluster.refresh(['a'], 1_000))
    expect(transport.asked.at(-1)?.address).toBe('n1:1')
  })

  test('several that swallow everything leave time for the last', async () => {
    const { cluster, runtime } = setUp(
      (address) => (address === 'd:1' ? metadata(1) : 'SWALLOW'),
      ['a:1', 'b:1', 'c:1', 'd:1'],
    )
    const before = runtime.clock.monotonic()
    expect(await runtime.run(() => cluster.brokers(1_000))).toEqual([{ host: 'n1', port: 1 }])
    expect(runtime.clock.monotonic() - before).toBe(875)
  })

  test('when all are down it says so within the time, and works again when one is up', async () => {
    let isUp = true
    const { cluster, runtime } = setUp(() => (isUp ? metadata(3, [topic('a', [1])]) : null))
    await runtime.run(() => cluster.topics(['a'], 1_000))
    isUp = false
    const error = await runtime.run(() => fails(cluster.refresh(['a'], 1_000)))
    expect(error).toMatchObject({ kind: 'RETRIABLE' })
    expect(error.message).toContain('no node of the cluster answers')
    expect(error.message).toContain((error.cause as Error).message)
    expect(error.cause).toBeInstanceOf(KafkaError)
    expect(cluster.known('a')?.name).toBe('a')
    isUp = true
    expect((await runtime.run(() => cluster.refresh(['a'], 1_000))).has('a')).toBe(true)
  })

  test('when all swallow everything it gives up at the end of the time', async () => {
    const { cluster, runtime } = setUp(() => 'SWALLOW', ['a:1', 'b:1'])
    const before = runtime.clock.monotonic()
    const error = await runtime.run(() => fails(cluster.topics(['a'], 1_000)))
    expect(error.kind).toBe('RETRIABLE')
    expect(runtime.clock.monotonic() - before).toBe(1_000)
  })

  test('brokers that were replaced are found through the bootstrap addresses', async () => {
    let generation = 'old'
    const { cluster, runtime, transport } = setUp((address) =>
      address.startsWith('boot') || address.startsWith(generation) ? metadata(2, [topic('a', [1])], generation) : null,
    )
    await runtime.run(() => cluster.topics(['a'], 1_000))
    generation = 'new'
    const found = await runtime.run(() => cluster.refresh(['a'], 1_000))
    expect(found.get('a')?.leaders[0]?.host).toBe('new1')
    await runtime.run(() => cluster.refresh(['a'], 1_000))
    expect(transport.asked.at(-1)?.address).toMatch(/^new/)
  })

  test('an address that is both a broker and a bootstrap address is asked once', async () => {
    const { cluster, runtime, transport } = setUp(() => 'CUT', ['n1:1', 'n1:1'])
    await runtime.run(() => fails(cluster.topics(['a'], 1_000)))
    expect(transport.asked).toHaveLength(1)
  })

  test('a permanent refusal of one node does not prevent the response of another', async () => {
    const { find } = refusing('bad')
    expect(await find('bad', 'good')).toHaveProperty('size', 1)
  })

  test('a refusal is fatal when every node refuses, and retriable when another is only down', async () => {
    const { find } = refusing('bad', 'worse')
    expect(await find('bad', 'worse')).toMatchObject({ kind: 'FATAL' })
    const passing = await find('bad', 'down')
    expect(passing).toMatchObject({ kind: 'RETRIABLE', cause: { kind: 'FATAL' } })
  })

  test('a refusal that no other node can fix ends the request at once', async () => {
    const { cluster, nodes, runtime, transport } = setUp(() => metadata(1))
    nodes.close()
    expect((await runtime.run(() => fails(cluster.topics(['a'], 1_000)))).kind).toBe('FATAL')
    expect(transport.asked).toEqual([])
  })
})

describe('coordinators', () => {
  test('are cached by kind and key, until invalidated', async () => {
    let host = 'n1'
    const { cluster, runtime, transport } = setUp(() => at(host))
    const find = (kind: 'GROUP' | 'TRANSACTION', key: string) =>
      runtime.run(() => cluster.coordinator(kind, key, 1_000))
    expect(await find('GROUP', 'g')).toEqual({ host: 'n1', port: 1 })
    host = 'n2'
    expect(await find('GROUP', 'g')).toEqual({ host: 'n1', port: 1 })
    expect(await find('TRANSACTION', 'g')).toEqual({ host: 'n2', port: 1 })
    cluster.invalidateCoordinator('GROUP', 'g')
    expect(await find('GROUP', 'g')).toEqual({ host: 'n2', port: 1 })
    expect(transport.asked).toHaveLength(3)
  })

  test('one that is not available yet is an error to try again, and is not remembered', async () => {
    let code: number = errorCode.COORDINATOR_NOT_AVAILABLE
    const { cluster, runtime } = setUp(() => at('n1', code))
    const error = await runtime.run(() => fails(cluster.coordinator('GROUP', 'g', 1_000)))
    expect(error).toMatchObject({ kind: 'RETRIABLE', reason: 'COORDINATOR_NOT_AVAILABLE' })
    code = errorCode.NONE
    expect(await runtime.run(() => cluster.coordinator('GROUP', 'g', 1_000))).toEqual({ host: 'n1', port: 1 })
  })
})
