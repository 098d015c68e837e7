import { Buffer } from 'node:buffer'
import {
  type BatchProducer,
  type ControlKind,
  type ErrorName,
  encodeBatch,
  encodeSubscription,
  errorName,
  type FetchRequest,
  type FetchResponsePartition,
  type InitProducerIdResponse,
  type JoinGroupResponse,
  type KafkaApi,
  type KafkaConnection,
  type ProduceResponse,
  type RequestOf,
  type ResponseOf,
  readBatches,
  type SyncGroupRequest,
} from '@waybill/kafka/wire'
import {
  createSimCluster,
  createVirtualRuntime,
  type SimCluster,
  type SimClusterOptions,
  type VirtualRuntime,
} from '@waybill/sim'

/** A name of Kafka's error table, or the number of one that is not in it. */
export type ErrorText = ErrorName | `ERROR_${number}`

/** Runs a program with a cluster of its own in virtual time. */
export function simulate<T>(
  program: (cluster: SimCluster, runtime: VirtualRuntime) => Promise<T>,
  options: SimClusterOptions & { seed?: number } = {},
): Promise<T> {
  const { seed = 1, ...clusterOptions } = options
  const runtime = createVirtualRuntime(seed)
  return runtime.run(() => program(createSimCluster({ runtime, ...clusterOptions }), runtime))
}

/** A record of text. */
export function textRecord(value: string, key: string | null = null, timestamp: number = virtualStart) {
  return { key: key === null ? null : Buffer.from(key), value: Buffer.from(value), headers: [], timestamp }
}

/** Where virtual time starts. */
export const virtualStart: number = Date.UTC(2026, 0, 1)

/** A batch of text records. */
export function textBatch(values: readonly string[], producer?: BatchProducer): Buffer {
  return encodeBatch(
    values.map((value) => textRecord(value)),
    'NONE',
    producer,
  )
}

/** A summary of a batch in the log. */
export interface SeenBatch {
  readonly offsets: string
  readonly values: readonly string[]
  readonly control?: ControlKind
}

/** Parses the batches in fetched bytes, and verifies each. */
export function seenBatches(bytes: Buffer): SeenBatch[] {
  return [...readBatches(bytes)].map((batch) => {
    batch.verify()
    const offsets = `${batch.baseOffset}-${batch.lastOffset}`
    if (batch.isControl) return { offsets, values: [], control: batch.controlKind() }
    const records = batch.records({ topic: '', partition: 0, epoch: 0 }, 0n)
    return { offsets, values: records.map(({ offset, value }) => `${offset}:${value?.toString()}`) }
  })
}

/** Defaults of a fetch that a test may override. */
export interface FetchOptions {
  readonly isolation?: FetchRequest['isolationLevel']
  readonly maxWaitMs?: number
  readonly minBytes?: number
  readonly maxBytes?: number
  readonly partitionMaxBytes?: number
  readonly leaderEpoch?: number
  readonly lastFetchedEpoch?: number
}

/** Requests of a test, as plain as they are on the wire, over one connection. */
export class SimClient {
  readonly connection: KafkaConnection

  private constructor(connection: KafkaConnection) {
    this.connection = connection
  }

  static async connect(cluster: SimCluster, node = 1, client = 'test'): Promise<SimClient> {
    return new SimClient(await cluster.transport(client).connect({ host: 'sim', port: node }, client))
  }

  send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    return this.connection.send(api, request)
  }

  async topicId(name: string): Promise<string> {
    const { topics } = await this.send('Metadata', { topics: [name] })
    return topics[0]?.topicId ?? ''
  }

  async produce(
    topic: string,
    partitionIndex: number,
    batch: Buffer,
    transactionalId: string | null = null,
  ): Promise<ProduceResponse['topics'][number]['partitions'][number] & { error: ErrorText }> {
    const topics = [{ name: topic, partitions: [{ partitionIndex, records: [batch] }] }]
    const response = await this.send('Produce', { transactionalId, timeoutMs: 1_000, topics })
    const partition = response.topics[0]?.partitions[0]
    if (partition === undefined) throw new Error('the response names no partition')
    return { ...partition, error: errorName(partition.errorCode) }
  }

  async fetch(
    topic: string,
    partition: number,
    fetchOffset: bigint,
    options: FetchOptions = {},
  ): Promise<FetchResponsePartition & { error: ErrorText; batches: SeenBatch[] }> {
    const topicId = await this.topicId(topic)
    return this.fetchById(topicId, partition, fetchOffset, options)
  }

  async fetchById(
    topicId: string,
    partition: number,
    fetchOffset: bigint,
    options: FetchOptions = {},
  ): Promise<FetchResponsePartition & { error: ErrorText; batches: SeenBatch[] }> {
    const response = await this.send('Fetch', {
      maxWaitMs: options.maxWaitMs ?? 0,
      minBytes: options.minBytes ?? 1,
      maxBytes: options.maxBytes ?? 1_000_000,
      isolationLevel: options.isolation ?? 'READ_COMMITTED',
      sessionId: 0,
      sessionEpoch: -1,
      forgottenTopics: [],
      topics: [
        {
          topicId,
          partitions: [
            {
              partition,
              currentLeaderEpoch: options.leaderEpoch ?? -1,
              fetchOffset,
              lastFetchedEpoch: options.lastFetchedEpoch ?? -1,
              partitionMaxBytes: options.partitionMaxBytes ?? 1_000_000,
            },
          ],
        },
      ],
    })
    const answer = response.topics[0]?.partitions[0]
    if (answer === undefined) throw new Error('the response names no partition')
    return { ...answer, error: errorName(answer.errorCode), batches: seenBatches(answer.records) }
  }

  async listOffset(
    topic: string,
    partitionIndex: number,
    timestamp: bigint,
    isolationLevel: FetchRequest['isolationLevel'] = 'READ_UNCOMMITTED',
  ): Promise<{ error: ErrorText; offset: bigint; timestamp: bigint; leaderEpoch: number }> {
    const { topics } = await this.send('ListOffsets', {
      isolationLevel,
      topics: [{ name: topic, partitions: [{ partitionIndex, currentLeaderEpoch: -1, timestamp }] }],
    })
    const answer = topics[0]?.partitions[0]
    if (answer === undefined) throw new Error('the response names no partition')
    const { offset, leaderEpoch } = answer
    return { error: errorName(answer.errorCode), offset, timestamp: answer.timestamp, leaderEpoch }
  }

  async initProducer(
    transactionalId: string | null,
    producerId = -1n,
    producerEpoch = -1,
    transactionTimeoutMs = 60_000,
  ): Promise<InitProducerIdResponse & { error: ErrorText }> {
    const request = { transactionalId, transactionTimeoutMs, producerId, producerEpoch }
    const response = await this.send('InitProducerId', request)
    return { ...response, error: errorName(response.errorCode) }
  }

  async join(groupId: string, memberId: string, options: JoinOptions = {}): Promise<JoinGroupResponse> {
    const { topics = ['t'], protocols = ['range'] } = options
    const metadata = encodeSubscription({ topics, owned: [], generationId: -1 })
    return this.send('JoinGroup', {
      groupId,
      memberId,
      protocolType: 'consumer',
      reason: '',
      sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 30_000,
      groupInstanceId: options.instanceId ?? null,
      protocols: protocols.map((name) => ({ name, metadata })),
    })
  }

  /** Joins as a dynamic member does: without an id first. */
  async joinAnew(groupId: string, options: JoinOptions = {}): Promise<JoinGroupResponse> {
    const { memberId } = await this.join(groupId, '', options)
    return this.join(groupId, memberId, options)
  }

  async sync(
    groupId: string,
    joined: Pick<JoinGroupResponse, 'generationId' | 'memberId'>,
    given: Readonly<Record<string, string>> = {},
    instanceId: string | null = null,
  ): Promise<{ error: ErrorText; assignment: string }> {
    const assignments: SyncGroupRequest['assignments'] = Object.entries(given).map(([memberId, text]) => ({
      memberId,
      assignment: Buffer.from(text),
    }))
    const { generationId, memberId } = joined
    const response = await this.send('SyncGroup', {
      groupId,
      generationId,
      memberId,
      groupInstanceId: instanceId,
      assignments,
      protocolType: 'consumer',
      protocolName: 'range',
    })
    return { error: errorName(response.errorCode), assignment: response.assignment.toString() }
  }

  async heartbeat(
    groupId: string,
    { generationId, memberId }: Pick<JoinGroupResponse, 'generationId' | 'memberId'>,
    groupInstanceId: string | null = null,
  ): Promise<ErrorText> {
    const response = await this.send('Heartbeat', { groupId, generationId, memberId, groupInstanceId })
    return errorName(response.errorCode)
  }

  async commit(
    groupId: string,
    committer: { generationId: number; memberId: string; groupInstanceId?: string | null },
    offset: bigint,
    where: { topic?: string; partition?: number; metadata?: string | null } = {},
  ): Promise<ErrorText> {
    const { topic = 't', partition = 0, metadata = null } = where
    const { generationId, memberId, groupInstanceId = null } = committer
    const committed = { partitionIndex: partition, committedOffset: offset, committedLeaderEpoch: -1 }
    const response = await this.send('OffsetCommit', {
      groupId,
      generationId,
      memberId,
      groupInstanceId,
      topics: [{ name: topic, partitions: [{ ...committed, committedMetadata: metadata }] }],
    })
    return errorName(response.topics[0]?.partitions[0]?.errorCode ?? Number.NaN)
  }

  /** Returns the committed offset, or the error in its place. */
  async committed(groupId: string, topic = 't', partition = 0, requireStable = true): Promise<bigint | ErrorText> {
    const topics = [{ name: topic, partitionIndexes: [partition] }]
    const response = await this.send('OffsetFetch', { groupId, topics, requireStable })
    if (response.errorCode !== 0) return errorName(response.errorCode)
    const answer = response.topics[0]?.partitions[0]
    if (answer === undefined) throw new Error('the response names no partition')
    return answer.errorCode === 0 ? answer.committedOffset : errorName(answer.errorCode)
  }
}

/** Options of a join. */
export interface JoinOptions {
  readonly sessionTimeoutMs?: number
  readonly rebalanceTimeoutMs?: number
  readonly instanceId?: string
  readonly topics?: readonly string[]
  readonly protocols?: readonly string[]
}

/** Commits from outside the group. */
export const outsider = { generationId: -1, memberId: '' }
