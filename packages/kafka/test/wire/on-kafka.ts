/** A connection to the shared broker, and what several tests say over it. */

import { Buffer } from 'node:buffer'
import { systemClock } from '@waybill/core/internal'
import {
  createBrokerTransport,
  type FetchRequest,
  type KafkaApi,
  type KafkaConnection,
  type NodeAddress,
  type ProduceRequest,
  type RequestOf,
  type ResponseOf,
  readBatches,
} from '@waybill/kafka/wire'
import { describeWith, type TopicOptions } from '@waybill/test-support'
import { afterAll, beforeAll } from 'vitest'
import { brokerAt, topicIdOf, until } from './broker-at.ts'

export interface OnKafka {
  readonly node: NodeAddress
  /** A name of one's own for a topic, group or transaction. */
  readonly named: (name: string) => string
  readonly send: <A extends KafkaApi>(api: A, request: RequestOf<A>) => Promise<ResponseOf<A>>
  /** A connection beside the one that `send` uses. */
  readonly connect: () => Promise<KafkaConnection>
  /** Creates a topic and waits until it can be used. */
  readonly createTopic: (
    name: string,
    options?: TopicOptions,
  ) => Promise<{ readonly topic: string; readonly topicId: string }>
  /** Waits until the coordinator of a group answers for it. */
  readonly groupReady: (groupId: string) => Promise<void>
}

/** Describes what is said to a real broker. */
export function describeOnKafka(title: string, define: (on: OnKafka) => void): void {
  describeWith('kafka')(title, ({ kafka }) => {
    const transport = createBrokerTransport()
    const node = brokerAt(kafka.bootstrap)
    const connect = () => transport.connect(node, 'transport-test')
    let connection: KafkaConnection
    beforeAll(async () => {
      connection = await connect()
    })
    afterAll(() => connection.close())
    define({
      node,
      connect,
      named: (name) => kafka.named(name),
      send: (api, request) => connection.send(api, request),
      createTopic: async (name, options) => {
        const topic = await kafka.createTopic(name, options)
        return { topic, topicId: await topicIdOf(connection, topic) }
      },
      groupReady: async (groupId) => {
        await until(
          () => connection.send('OffsetFetch', { groupId, topics: null, requireStable: true }),
          (answer) => answer.errorCode === 0,
        )
      },
    })
  })
}

/** Of now: a record much older than the next begins a new segment, and a fetch ends with a segment. */
export const timestamp: number = systemClock.now()

/** A record to write. */
export function record(value: string) {
  const bytes = Buffer.from(value)
  return { key: null, value: bytes, headers: [[Buffer.from('h'), bytes] as const], timestamp }
}

/** A request that writes a batch to partition 0. */
export function produce(name: string, ...records: readonly Buffer[]): ProduceRequest {
  return {
    transactionalId: null,
    timeoutMs: 5_000,
    topics: [{ name, partitions: [{ partitionIndex: 0, records }] }],
  }
}

/** A request that reads partition 0. */
export function fetchOf(topicId: string, fetchOffset = 0n, changes: Partial<FetchRequest> = {}): FetchRequest {
  const partition = { partition: 0, currentLeaderEpoch: -1, fetchOffset, partitionMaxBytes: 10_000_000 }
  return {
    maxWaitMs: 0,
    minBytes: 1,
    maxBytes: 10_000_000,
    isolationLevel: 'READ_UNCOMMITTED',
    sessionId: 0,
    sessionEpoch: -1,
    topics: [{ topicId, partitions: [partition] }],
    forgottenTopics: [],
    ...changes,
  }
}

/** The batches of the first partition of an answer. */
export function batchesOf(response: ResponseOf<'Fetch'>) {
  const batches = [...readBatches(response.topics[0]?.partitions[0]?.records ?? Buffer.alloc(0))]
  for (const batch of batches) batch.verify()
  return batches
}

/** What the records of an answer say, and what its control records mark. */
export function valuesOf(response: ResponseOf<'Fetch'>): string[] {
  const origin = { topic: '', partition: 0, epoch: 0 }
  return batchesOf(response).flatMap((batch) =>
    batch.isControl ? [batch.controlKind()] : batch.records(origin, 0n).map(({ value }) => String(value)),
  )
}
