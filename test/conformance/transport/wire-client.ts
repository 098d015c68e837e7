import assert from 'node:assert/strict'
import type { Runtime } from '@waybill/core'
import {
  errorCode,
  type KafkaApi,
  type KafkaConnection,
  type NodeAddress,
  type RequestOf,
  type ResponseOf,
} from '@waybill/kafka/wire'
import { onlyOne, patienceMs, until } from '@waybill/testkit/internal'
import type { ClusterUnderTest } from '../kafka-harness.ts'
import { nodeAddress } from './node-address.ts'
import { type Route, routes } from './route.ts'

/** A topic that is ready for writes and reads. */
export interface MadeTopic {
  readonly name: string
  readonly id: string
}

/** Settings of a new topic. */
export interface MadeTopicOptions {
  readonly partitions?: number
  /** @defaultValue the cluster's default */
  readonly replication?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** Sends raw requests, each to its node, over one connection per node. */
export class WireClient implements AsyncDisposable {
  readonly cluster: ClusterUnderTest
  readonly #connections = new Map<string, Promise<KafkaConnection>>()
  /** Addresses of the leaders of each partition, by topic name and by topic id. */
  readonly #leaders = new Map<string, readonly NodeAddress[]>()
  readonly #coordinators = new Map<string, Promise<NodeAddress>>()
  readonly #others: WireClient[] = []

  constructor(cluster: ClusterUnderTest) {
    this.cluster = cluster
  }

  get runtime(): Runtime {
    return this.cluster.runtime
  }

  /** Creates a client with its own connections, as in another process. It closes with this one. */
  another(): WireClient {
    const other = new WireClient(this.cluster)
    for (const [topic, leaders] of this.#leaders) other.#leaders.set(topic, leaders)
    this.#others.push(other)
    return other
  }

  named(name: string): string {
    return this.cluster.named(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const other of this.#others) await other[Symbol.asyncDispose]()
    const settled = await Promise.allSettled(this.#connections.values())
    for (const result of settled) if (result.status === 'fulfilled') result.value.close()
  }

  /** Sends a request to its node and returns the response. */
  async send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    const connection = await this.to(await this.#nodeOf(routes[api](request)))
    return connection.send(api, request)
  }

  /** Returns the shared connection to a node. */
  to(node: NodeAddress): Promise<KafkaConnection> {
    const name = `${node.host}:${node.port}`
    let connection = this.#connections.get(name)
    if (connection === undefined) {
      connection = this.cluster.transport.connect(node, 'conformance')
      this.#connections.set(name, connection)
    }
    return connection
  }

  /** Returns the connection to the leader of a partition. */
  async toLeader({ name }: MadeTopic, partition = 0): Promise<KafkaConnection> {
    return this.to(await this.#nodeOf({ to: 'LEADER', topic: name, partition }))
  }

  /** Retries until the response satisfies the condition, and returns it. */
  until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
    return until(this.runtime, ask, isSo)
  }

  /** Creates a topic; resolves when every partition is ready. */
  async createTopic(plainName: string, options: MadeTopicOptions = {}): Promise<MadeTopic> {
    const { partitions = 1, replication = -1, configs = {} } = options
    const name = this.named(plainName)
    const settings = Object.entries(configs).map(([setting, value]) => ({ name: setting, value }))
    const answer = await this.send('CreateTopics', {
      topics: [{ name, numPartitions: partitions, replicationFactor: replication, configs: settings }],
      timeoutMs: patienceMs,
      validateOnly: false,
    })
    assert.deepEqual(answer.topics, [{ name, errorCode: errorCode.NONE, errorMessage: null }])
    return this.topicReady(name, partitions)
  }

  /** Waits until every partition of a topic is ready. */
  async topicReady(name: string, partitions: number): Promise<MadeTopic> {
    const { brokers, topics } = await this.until(
      () => this.send('Metadata', { topics: [name] }),
      ({ topics: [topic] }) =>
        topic?.errorCode === 0 &&
        topic.partitions.length === partitions &&
        topic.partitions.every(({ leaderId }) => leaderId >= 0),
    )
    const topic = topics[0] as ResponseOf<'Metadata'>['topics'][number]
    const leaders = topic.partitions
      .toSorted((a, b) => a.partitionIndex - b.partitionIndex)
      .map(({ leaderId }) => brokers.find(({ nodeId }) => nodeId === leaderId) as NodeAddress)
    this.#keepLeaders({ name, id: topic.topicId }, leaders)
    for (const other of this.#others) other.#keepLeaders({ name, id: topic.topicId }, leaders)
    for (const partition of leaders.keys())
      await this.until(
        () => this.listOffset(name, -1n, partition),
        (found) => found.errorCode === errorCode.NONE,
      )
    return { name, id: topic.topicId }
  }

  /** Returns the indexes of that many partitions with a common leader. */
  async partitionsOfOneLeader({ name }: MadeTopic, count: number): Promise<readonly number[]> {
    const { topics } = await this.send('Metadata', { topics: [name] })
    const byLeader = Map.groupBy(topics[0]?.partitions ?? [], ({ leaderId }) => leaderId)
    const indexes = [...byLeader.values()].find((led) => led.length >= count) ?? []
    return indexes
      .map(({ partitionIndex }) => partitionIndex)
      .toSorted((a, b) => a - b)
      .slice(0, count)
  }

  async listOffset(
    name: string,
    timestamp: bigint,
    partitionIndex = 0,
    isolationLevel: RequestOf<'ListOffsets'>['isolationLevel'] = 'READ_UNCOMMITTED',
  ): Promise<ResponseOf<'ListOffsets'>['topics'][number]['partitions'][number]> {
    const partitions = [{ partitionIndex, currentLeaderEpoch: -1, timestamp }]
    const answer = await this.send('ListOffsets', { isolationLevel, topics: [{ name, partitions }] })
    return onlyOne(answer.topics[0]?.partitions)
  }

  #keepLeaders({ name, id }: MadeTopic, leaders: readonly NodeAddress[]): void {
    this.#leaders.set(name, leaders)
    this.#leaders.set(id, leaders)
  }

  #nodeOf(route: Route): Promise<NodeAddress> | NodeAddress {
    const anyNode = nodeAddress(this.cluster.brokers[0] ?? '')
    if (route.to === 'ANY') return anyNode
    if (route.to === 'LEADER') return this.#leaders.get(route.topic)?.[route.partition] ?? anyNode
    const name = `${route.kind} ${route.key}`
    let node = this.#coordinators.get(name)
    if (node === undefined) {
      node = this.#findCoordinator(route)
      this.#coordinators.set(name, node)
    }
    return node
  }

  /** Finds the coordinator. A new cluster takes some seconds to create one. */
  async #findCoordinator({ kind, key }: Extract<Route, { to: 'COORDINATOR' }>): Promise<NodeAddress> {
    const found = await this.until(
      () => this.send('FindCoordinator', { kind, key }),
      (answer) => answer.errorCode === errorCode.NONE || answer.errorCode === errorCode.INVALID_REQUEST,
    )
    const node = found.errorCode === errorCode.NONE ? found : nodeAddress(this.cluster.brokers[0] ?? '')
    if (kind === 'GROUP' && key !== '') {
      const connection = await this.to(node)
      await this.until(
        () => connection.send('OffsetFetch', { groupId: key, topics: [], requireStable: false }),
        (answer) => answer.errorCode === errorCode.NONE,
      )
    }
    return node
  }
}
