import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { noopLogger, type Runtime, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import type { KafkaTransport } from '@waybill/kafka/wire'
import { eventually } from '@waybill/testkit'
import type { Binding } from '../../../src/api/binding.ts'
import type { Connector } from '../../../src/api/connector.ts'
import type { DeliveryContext } from '../../../src/api/handler-types.ts'
import { createConnector } from '../../../src/engine/create-connector.ts'
import { openAdministration } from '../../support/open-administration.ts'

/** Where connectors stand. */
export interface TransactionPlace {
  readonly brokers: readonly string[]
  readonly runtime: Runtime
  /** Another way to the same cluster. */
  transport(name: string): KafkaTransport
  createTopic(name: string, partitions: number): Promise<string>
}

export type Given = Partial<Omit<Binding, 'topic' | 'groupId'>> & Pick<Binding, 'handler'>

const once = { tier0: { maxAttempts: 1 } } as const
const quick = { ...once, tiers: [{ delayMs: 50, maxAttempts: 3 }] }
export const valueOf = ({ value }: Pick<KafkaRecord, 'value'>): string => String(value)
export const headerOf = ({ headers }: Pick<KafkaRecord, 'headers'>, name: string): string | undefined =>
  headers.text(name)
export const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `${from + at}`)

/** A transactional binding, what it reads and what it writes. */
export class Scene implements AsyncDisposable {
  readonly place: TransactionPlace
  readonly client: KafkaClient
  readonly topic: string
  readonly output: string
  readonly groupId: string
  /** Values the handlers were called with. */
  readonly calls: string[] = []
  readonly #opened: AsyncDisposable[] = []

  constructor(place: TransactionPlace, topic: string, output: string) {
    this.place = place
    this.topic = topic
    this.output = output
    this.groupId = `${topic}-group`
    this.client = this.open(place.transport('reader'))
  }

  open(transport: KafkaTransport): KafkaClient {
    const { brokers, runtime } = this.place
    const client = createKafkaClient({ brokers, transport, runtime })
    this.#opened.push(client)
    return client
  }

  /** Sends what it makes of a record, before `then` may fail. */
  transforming(then: (value: string, context: DeliveryContext) => void | Promise<void> = () => {}) {
    return async (record: KafkaRecord, context: DeliveryContext): Promise<void> => {
      const value = valueOf(record)
      this.calls.push(value)
      context.send({ topic: this.output, key: record.key, value: Buffer.from(`f(${value})`) })
      await then(value, context)
    }
  }

  async start(binding: Given, client = this.open(this.place.transport('connector'))): Promise<Connector> {
    const { topic, groupId } = this
    const times = { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 500, shutdownTimeoutMs: 5_000 }
    const connector = createConnector({
      administration: openAdministration,
      clusters: { default: client },
      bindings: { shipping: { topic, groupId, transactional: true, retry: quick, ...times, ...binding } },
      runtime: runtimeWith({ ...this.place.runtime, logger: noopLogger }),
    })
    this.#opened.unshift({ [Symbol.asyncDispose]: () => connector.stop({ deadlineMs: 5_000 }).catch(() => {}) })
    await connector.start()
    return connector
  }

  async write(values: readonly string[], partition = 0): Promise<void> {
    await using producer = this.client.producer('EVENT')
    const { topic } = this
    await Promise.all(
      values.map((value) => producer.send({ topic, partition, key: Buffer.from(value), value: Buffer.from(value) })),
    )
  }

  /** What a reader of committed records sees. */
  async read(topic = this.output): Promise<string[]> {
    return (await this.readRecords(topic)).map(valueOf)
  }

  async readRecords(topic: string): Promise<KafkaRecord[]> {
    const { admin } = this.client
    const [view] = requireAllDone('topics', await admin.describeTopics([topic]))
    const places = (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
    const ends = requireAllDone('ends', await admin.listOffsets(places, 'LATEST'))
    await using reader = this.client.reader(ends.map((one) => ({ ...one, from: 0n, until: one.offset ?? 0n })))
    const records: KafkaRecord[] = []
    for (let some = await reader.next(500); some !== undefined; some = await reader.next(500)) records.push(...some)
    return records
  }

  async committed(groupId = this.groupId): Promise<bigint> {
    const offsets = requireAllDone('offsets', await this.client.admin.groupOffsets(groupId))
    return offsets.reduce((sum, { committed }) => sum + (committed ?? 0n), 0n)
  }

  until(assertion: () => void | Promise<void>): Promise<void> {
    return eventually(assertion, { runtime: this.place.runtime, deadlineMs: 60_000 })
  }

  async untilCommitted(offset: bigint): Promise<void> {
    await this.until(async () => {
      const committed = await this.committed()
      if (committed !== offset) throw new Error(`${committed} is committed, and not ${offset}.`)
    })
  }

  /** The outputs that are visible once there are as many as are due, and nothing more has come for a while. */
  async outputs(count: number): Promise<string[]> {
    await this.until(async () => {
      const { length } = await this.read()
      if (length < count) throw new Error(`${length} of ${count} outputs are visible.`)
    })
    await this.place.runtime.timers.sleep(300)
    return (await this.read()).toSorted()
  }

  async assertOutputsOf(values: readonly string[]): Promise<void> {
    assert.deepEqual(await this.outputs(values.length), values.map((value) => `f(${value})`).toSorted())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#opened) await one[Symbol.asyncDispose]()
  }
}
