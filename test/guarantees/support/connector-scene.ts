import { Buffer } from 'node:buffer'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Binding } from '@waybill/connector'
import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { Child } from './child.ts'
import { type AuditedPartition, committedAudit } from './committed-audit.ts'
import type { ConnectorMessage, ConnectorTask } from './connector-process.ts'
import { HandledJournal } from './handled-journal.ts'
import { readLog } from './ledger.ts'

/** The purpose of a record: handled at once, after failures, or never. */
export type RecordKind = 'OK' | 'LATER' | 'DEAD'

/** A record as it was written. */
export interface WrittenRecord {
  readonly key: string
  readonly value: string
  readonly kind: RecordKind
}

/** How the connectors of a scene work. */
export interface SceneOptions {
  readonly binding: Partial<Omit<Binding, 'handler'>>
  readonly partitions: number
  readonly handleMs: number
}

export const patient = { deadlineMs: 90_000, everyMs: 100 }
/**
 * Session of a process that will be killed: it is out of its group after this. All others have the default: on a busy
 * machine they must not lose their partitions, which would repeat records for that reason.
 */
const shortSession = { sessionTimeoutMs: 3_000, heartbeatIntervalMs: 500 }
/** The others learn of a rebalance with a heartbeat. */
const longSession = { sessionTimeoutMs: 45_000, heartbeatIntervalMs: 500 }

/** One topic, one binding, and connectors in processes of their own that come and go. */
export class ConnectorScene implements AsyncDisposable {
  readonly topic: string
  readonly groupId: string
  readonly written: WrittenRecord[] = []
  readonly #kafka: KafkaClient
  readonly #place: KafkaPlace
  readonly #options: SceneOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'waybill-journal-'))
  readonly #children: Child<ConnectorMessage>[] = []

  private constructor(place: KafkaPlace, kafka: KafkaClient, topic: string, options: SceneOptions) {
    this.#kafka = kafka
    this.#place = place
    this.#options = options
    this.topic = topic
    this.groupId = `${topic}-group`
  }

  static async open(
    place: KafkaPlace,
    kafka: KafkaClient,
    name: string,
    options: SceneOptions,
  ): Promise<ConnectorScene> {
    const topic = await place.createTopic(name, { partitions: options.partitions })
    return new ConnectorScene(place, kafka, topic, options)
  }

  get keepsKeys(): boolean {
    return this.#options.binding.orderingMode === 'KEY'
  }

  get journal(): HandledJournal {
    return new HandledJournal(this.#journalPath)
  }

  /** Returns the written values of these kinds. */
  values(...kinds: readonly RecordKind[]): string[] {
    return this.written.filter(({ kind }) => kinds.includes(kind)).map(({ value }) => value)
  }

  /** Writes records in this order and waits until they are confirmed. */
  async write(records: readonly Omit<WrittenRecord, 'value'>[]): Promise<void> {
    await using producer = this.#kafka.producer('EVENT', { lingerMs: 1 })
    const from = this.written.length
    const written = records.map(({ key, kind }, index) => ({ key, kind, value: `${kind}-${from + index}` }))
    this.written.push(...written)
    const sends = written.map(({ key, value }) =>
      producer.send({ topic: this.topic, key: Buffer.from(key), value: Buffer.from(value) }),
    )
    await Promise.all(sends)
  }

  /** Starts a connector in a process of its own. */
  connector(killAt?: ConnectorTask['killAt']): Child<ConnectorMessage> {
    const task: ConnectorTask = {
      brokers: this.#place.bootstrap,
      binding: {
        topic: this.topic,
        groupId: this.groupId,
        ...(killAt === undefined ? longSession : shortSession),
        maxPollRecords: 20,
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 100 }] },
        ...this.#options.binding,
      },
      journal: this.#journalPath,
      handleMs: this.#options.handleMs,
      ...(killAt === undefined ? {} : { killAt }),
    }
    const child = new Child<ConnectorMessage>(new URL('./connector-process.ts', import.meta.url), task)
    this.#children.push(child)
    return child
  }

  /** Returns the commits of the groups, for the source and its tier. */
  async audit(): Promise<AuditedPartition[]> {
    const places = await this.#places()
    const audits = await Promise.all(
      places.map(({ groupId, partitions }) => committedAudit(this.#kafka, groupId, partitions)),
    )
    return audits.flat()
  }

  /** Resolves when nothing is left to do: everything is committed, and no record is waiting. */
  async settled(deadlineMs: number = patient.deadlineMs): Promise<AuditedPartition[]> {
    let audit: AuditedPartition[] = []
    await eventually(
      async () => {
        audit = await this.audit()
        const unfinished = await this.#unfinished(audit)
        if (unfinished.length > 0) throw new Error(`Not settled: ${unfinished.join(', ')}`)
      },
      { ...patient, deadlineMs },
    )
    return audit
  }

  /** Returns the values of the dead letters, as often as each is there. */
  async deadLetters(): Promise<string[]> {
    const log = await readLog(this.#kafka, `${this.groupId}-reader`, `${this.topic}.DLT`)
    return log.flat()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()))
    rmSync(this.#folder, { recursive: true })
  }

  get #journalPath(): string {
    return join(this.#folder, 'handled')
  }

  async #unfinished(audit: readonly AuditedPartition[]): Promise<string[]> {
    const partitions = (await this.#places()).flatMap((place) => place.partitions)
    const ends = requireAllDone('Finding the ends', await this.#kafka.admin.listOffsets(partitions, 'LATEST'))
    return ends.flatMap(({ topic, partition, offset }) => {
      const found = audit.find((one) => one.topic === topic && one.partition === partition)
      const name = `${topic}-${partition}`
      if ((found?.committed ?? 0n) !== (offset ?? 0n)) return [`${name}: ${found?.committed} of ${offset}`]
      return (found?.count('wn') ?? 0n) > 0n ? [`${name}: ${found?.count('wn')} wait`] : []
    })
  }

  /** Returns groups and partitions. The waiting topic is part of the source's commits. */
  async #places(): Promise<{ groupId: string; partitions: TopicPartition[] }[]> {
    const source = { groupId: this.groupId, topic: this.topic }
    const tier = { groupId: `${this.groupId}-retry-1`, topic: `${this.topic}.retry-1` }
    const places = this.keepsKeys ? [source] : [source, tier]
    const described = await this.#kafka.admin.describeTopics(places.map(({ topic }) => topic))
    return places.flatMap(({ groupId, topic }) => {
      const found = described.find((one) => one.topic === topic)
      if (found?.outcome !== 'DONE') return [] // A connector that died early has not created the topic.
      return [{ groupId, partitions: found.partitions.map(({ partition }) => ({ topic, partition })) }]
    })
  }
}
