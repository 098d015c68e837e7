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

/** Settings of a new topic. */
export interface TopicOptions {
  readonly partitions?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** Client options with short intervals, because a test is short. */
const consumerDefaults: Omit<ConsumerOptions, 'groupId' | 'topics'> = {
  heartbeatIntervalMs: 100,
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 10_000,
  metadataRefreshMs: 100,
  maxWaitMs: 100,
}

/** A client and its resources for one test. Everything it opens is closed with the scene. */
export class ClientScene implements AsyncDisposable {
  readonly cluster: ClusterUnderTest
  /** Sends requests that the client has no call for. */
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

  /** Creates a second client, as in another process. */
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

  /** Creates a topic and returns its full name. */
  async createTopic(plainName: string, { partitions = 1, configs = {} }: TopicOptions = {}): Promise<string> {
    const topic = this.named(plainName)
    const outcomes = await this.kafka.admin.createTopics([{ topic, partitions, replication: -1, configs }])
    requireAllDone('Creating a topic', outcomes)
    return topic
  }

  /** Writes texts to a partition, one after another. */
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

  /** Starts a consumer that logs every record and event. */
  async read(options: ReaderOptions, client: KafkaClient = this.kafka): Promise<Reader> {
    const reader = new Reader(client, this.runtime, { ...consumerDefaults, ...options })
    await reader.consumer.start()
    return reader
  }
}

/** Returns a record with text as its value. */
export function textRecord(
  topic: string,
  value: string,
  partition = 0,
): { topic: string; partition: number; key: null; value: Buffer } {
  return { topic, partition, key: null, value: Buffer.from(value) }
}

/** Returns the error of a rejected promise, which must be a KafkaError of that kind. */
export async function kafkaErrorOf(rejected: Promise<unknown>, kind: KafkaErrorKind): Promise<KafkaError> {
  const error: unknown = await rejected.then(
    () => assert.fail(`it is fulfilled, and should be rejected with kind ${kind}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof KafkaError, `${describeThrown(error)} is no KafkaError`)
  assert.equal(error.kind, kind, error.message)
  return error
}
