import { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import { type BatchProducer, encodeBatch, type KafkaTransport, type NodeAddress } from '@waybill/kafka/wire'
import { type Cluster, createCluster } from '../../../src/client/cluster/cluster.ts'
import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { createNodes, type Nodes } from '../../../src/client/cluster/nodes.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import type { ConsumerOptions } from '../../../src/client/consume/consumer-options.ts'
import { createGroupConsumer } from '../../../src/client/consume/group-consumer.ts'

/** The environment of a {@link TestCluster}. */
export interface TestClusterPlace {
  readonly runtime: Runtime
  readonly bootstrap: readonly NodeAddress[]
  transport(client: string): KafkaTransport
  /** Returns a unique name. */
  named(name: string): string
}

const timeoutMs = 20_000

/** A cluster, simulated or real, by nothing but requests: the same test runs on both. */
export class TestCluster implements AsyncDisposable {
  readonly place: TestClusterPlace
  readonly #nodes: Nodes
  readonly #cluster: Cluster
  readonly #consumers: Consumer[] = []

  constructor(place: TestClusterPlace) {
    this.place = place
    this.#nodes = createNodes(place.transport('test'), 'test', place.runtime)
    this.#cluster = createCluster(this.#nodes, place.bootstrap, place.runtime)
  }

  get runtime(): Runtime {
    return this.place.runtime
  }

  async createTopic(name: string, partitions = 1, configs: Readonly<Record<string, string>> = {}): Promise<string> {
    const topic = this.place.named(name)
    await this.createNamed(topic, partitions, configs)
    return topic
  }

  /** Creates a topic, even one that was deleted before. */
  async createNamed(topic: string, partitions = 1, configs: Readonly<Record<string, string>> = {}): Promise<void> {
    const list = Object.entries(configs).map(([name, value]) => ({ name, value }))
    await this.#until(async () => {
      const answer = await this.#cluster.anyNode(
        'CreateTopics',
        {
          topics: [{ name: topic, numPartitions: partitions, replicationFactor: -1, configs: list }],
          timeoutMs,
          validateOnly: false,
        },
        timeoutMs,
      )
      return answer.topics.every(({ errorCode }) => errorCode === 0 || errorCode === 36)
    })
    await this.#until(async () => (await this.#partitionCount(topic)) === partitions)
  }

  async addPartitions(topic: string, count: number): Promise<void> {
    await this.#cluster.anyNode(
      'CreatePartitions',
      { topics: [{ name: topic, count }], timeoutMs, validateOnly: false },
      timeoutMs,
    )
    await this.#until(async () => (await this.#partitionCount(topic)) === count)
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.#cluster.anyNode('DeleteTopics', { topicNames: [topic], timeoutMs }, timeoutMs)
    await this.#until(async () => (await this.#partitionCount(topic)) === 0)
  }

  /** Deletes the records below an offset. */
  async deleteRecords(topic: string, partition: number, offset: bigint): Promise<void> {
    const partitions = [{ partitionIndex: partition, offset }]
    const leader = await this.#leader(topic, partition)
    await this.#nodes.send(leader, 'DeleteRecords', { topics: [{ name: topic, partitions }], timeoutMs }, timeoutMs)
  }

  /** Writes texts and answers the offset of the first. */
  async produce(
    topic: string,
    partition: number,
    values: readonly string[],
    producer?: BatchProducer,
  ): Promise<bigint> {
    const records = values.map((value) => ({
      key: null,
      value: Buffer.from(value),
      headers: [],
      timestamp: this.runtime.clock.now(),
    }))
    const batch = encodeBatch(records, 'NONE', producer)
    const partitions = [{ partitionIndex: partition, records: [batch] }]
    let baseOffset = -1n
    await this.#until(async () => {
      const leader = await this.#leader(topic, partition)
      const request = { transactionalId: null, timeoutMs, topics: [{ name: topic, partitions }] }
      const answer = await this.#nodes.send(leader, 'Produce', request, timeoutMs).catch((error: unknown) => {
        // A node that is down cannot have written it. What may have been written is not written again.
        if (!(error instanceof KafkaError) || error.kind !== 'RETRIABLE') throw error
        return { topics: [] }
      })
      const [entry] = answer.topics.flatMap((one) => one.partitions)
      baseOffset = entry?.baseOffset ?? -1n
      if (entry?.errorCode !== 0) this.#cluster.invalidateTopic(topic)
      return entry?.errorCode === 0
    })
    return baseOffset
  }

  /** Takes a member's place away without asking it, as its session's end would. */
  async expel(groupId: string, memberId: string): Promise<void> {
    const node = await this.#cluster.coordinator('GROUP', groupId, timeoutMs)
    const members = [{ memberId, groupInstanceId: null, reason: 'expelled by a test' }]
    await this.#nodes.send(node, 'LeaveGroup', { groupId, members }, timeoutMs)
  }

  /** Returns the instance ids of a group's members; null for dynamic ones. */
  async instancesOf(groupId: string): Promise<readonly (string | null)[]> {
    const node = await this.#cluster.coordinator('GROUP', groupId, timeoutMs)
    const { groups } = await this.#nodes.send(node, 'DescribeGroups', { groups: [groupId] }, timeoutMs)
    return groups.flatMap(({ members }) => members.map(({ groupInstanceId }) => groupInstanceId))
  }

  /** Returns the committed offsets of a group in a topic, by partition. */
  async committed(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
    const node = await this.#cluster.coordinator('GROUP', groupId, timeoutMs)
    const answer = await this.#nodes.send(
      node,
      'OffsetFetch',
      { groupId, topics: null, requireStable: true },
      timeoutMs,
    )
    const partitions = answer.topics.find(({ name }) => name === topic)?.partitions ?? []
    return new Map(partitions.map(({ partitionIndex, committedOffset }) => [partitionIndex, committedOffset]))
  }

  /** A consumer with short times, so that tests of rebalances end soon. It is stopped with the cluster. */
  consumer(
    options: Pick<ConsumerOptions, 'groupId' | 'topics'> & Partial<ConsumerOptions>,
    client = 'consumer',
  ): Consumer {
    const transport = this.place.transport(client)
    const nodes = createNodes(transport, client, this.runtime)
    const cluster = createCluster(nodes, this.place.bootstrap, this.runtime)
    const consumer = createGroupConsumer(
      { transport, clientId: client, cluster, runtime: this.runtime },
      {
        sessionTimeoutMs: 10_000,
        heartbeatIntervalMs: 200,
        rebalanceTimeoutMs: 10_000,
        drainDeadlineMs: 5_000,
        requestTimeoutMs: 10_000,
        metadataRefreshMs: 500,
        maxWaitMs: 200,
        ...options,
      },
    )
    this.#consumers.push(consumer)
    this.#closing.push(nodes)
    return consumer
  }

  readonly #closing: Nodes[] = []

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop({ deadlineMs: 2_000 })))
    for (const nodes of this.#closing) nodes.close()
    this.#nodes.close()
  }

  async #leader(topic: string, partition: number): Promise<NodeAddress> {
    let leader: NodeAddress | undefined
    await this.#until(async () => {
      const topics = await this.#cluster.topics([topic], timeoutMs)
      leader = topics.get(topic)?.leaders[partition] ?? undefined
      if (leader === undefined) this.#cluster.invalidateTopic(topic)
      return leader !== undefined
    })
    return leader as NodeAddress
  }

  async #partitionCount(topic: string): Promise<number> {
    const topics = await this.#cluster.refresh([topic], timeoutMs)
    const leaders = topics.get(topic)?.leaders ?? []
    return leaders.filter((leader) => leader !== null).length
  }

  /** Brokers learn of a change one after another. */
  async #until(isDone: () => Promise<boolean>): Promise<void> {
    for (let attempt = 0; !(await isDone()); attempt++) {
      if (attempt > 200) throw new Error('The cluster did not do what it was asked to.')
      await this.runtime.timers.sleep(25)
    }
  }
}
