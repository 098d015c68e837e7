import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describeThrown, type Runtime } from '@waybill/core'
import {
  type ConsumerOptions,
  createKafkaClient,
  type KafkaClient,
  KafkaError,
  type Producer,
  requireAllDone,
  type SendResult,
  type TransactionalProducer,
} from '@waybill/kafka'
import type { KafkaErrorKind } from '@waybill/kafka/internal'
import { until } from '@waybill/testkit/internal'
import type { ClusterUnderTest } from '../kafka-harness.ts'
import { WireClient } from '../transport/wire-client.ts'
import { Reader, type ReaderOptions } from './reader.ts'

/** How a topic is made. */
export interface TopicOptions {
  readonly partitions?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** What tests of the client need of it: short intervals, because a test is short. */
const consumerDefaults: Omit<ConsumerOptions, 'groupId' | 'topics'> = {
  heartbeatIntervalMs: 100,
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 10_000,
  metadataRefreshMs: 100,
  maxWaitMs: 100,
}

/** A client, and what a test does with it. Everything that was made ends with the scene. */
export class ClientScene implements AsyncDisposable {
  readonly cluster: ClusterUnderTest
  /** For what the client has no words for. */
  readonly wire: WireClient
  readonly kafka: KafkaClient
  readonly #clients: KafkaClient[] = []
  #producer: Producer | undefined

  constructor(cluster: ClusterUnderTest) {
    this.cluster = cluster
    this.wire = new WireClient(cluster)
    this.kafka = this.anotherClient()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close()
    await this.wire[Symbol.asyncDispose]()
  }

  get runtime(): Runtime {
    return this.cluster.runtime
  }

  /** A client as another process would have it. */
  anotherClient(): KafkaClient {
    const { brokers, transport, runtime } = this.cluster
    const client = createKafkaClient({ brokers, transport, runtime, clientId: 'conformance' })
    this.#clients.push(client)
    return client
  }

  named(name: string): string {
    return this.cluster.named(name)
  }

  until<T>(ask: () => T | Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
    return until(this.runtime, ask, isSo)
  }

  /** Makes a topic and answers its whole name. */
  async createTopic(plainName: string, { partitions = 1, configs = {} }: TopicOptions = {}): Promise<string> {
    const topic = this.named(plainName)
    const outcomes = await this.kafka.admin.createTopics([{ topic, partitions, replication: -1, configs }])
    requireAllDone('Creating a topic', outcomes)
    return topic
  }

  /** Writes texts one behind the other to a partition. */
  async write(topic: string, values: readonly string[], partition = 0): Promise<SendResult[]> {
    this.#producer ??= this.kafka.producer('EVENT')
    const producer = this.#producer
    return Promise.all(values.map((value) => producer.send(textRecord(topic, value, partition))))
  }

  /** A producer that has taken its transactional id and has a transaction open. What it writes has its size. */
  async transaction(plainId: string, client: KafkaClient = this.kafka): Promise<TransactionalProducer> {
    const producer = client.transactionalProducer(this.named(plainId), { compression: 'NONE' })
    await producer.begin()
    return producer
  }

  /** A running consumer that writes down all it is handed and told. */
  async read(options: ReaderOptions, client: KafkaClient = this.kafka): Promise<Reader> {
    const reader = new Reader(client, this.runtime, { ...consumerDefaults, ...options })
    await reader.consumer.start()
    return reader
  }
}

/** A record's value as text, for a producer. */
export function textRecord(
  topic: string,
  value: string,
  partition = 0,
): { topic: string; partition: number; key: null; value: Buffer } {
  return { topic, partition, key: null, value: Buffer.from(value) }
}

/** The error that a promise rejects with, which must be a KafkaError of that kind. */
export async function kafkaErrorOf(rejected: Promise<unknown>, kind: KafkaErrorKind): Promise<KafkaError> {
  const error: unknown = await rejected.then(
    () => assert.fail(`it is fulfilled, and should be rejected with kind ${kind}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof KafkaError, `${describeThrown(error)} is no KafkaError`)
  assert.equal(error.kind, kind, error.message)
  return error
}
