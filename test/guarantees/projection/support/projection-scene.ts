import { type KafkaClient, type OutRecord, requireAllDone } from '@waybill/kafka'
import { createProjectionStore, migrate } from '@waybill/sql'
import type { KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { type DatabaseAddress, type OpenDatabase, openDatabase } from '../../outbox/support/open-database.ts'
import { Child } from '../../support/child.ts'
import { readLog } from '../../support/ledger.ts'
import type { ProjectionMessage, ProjectionTask } from './projection-task.ts'

export const patient = { deadlineMs: 240_000, everyMs: 200 }

/** A row of the view. */
export interface CreditRow {
  readonly account: string
  readonly version: number
  readonly total: number
}

/** One topic and one read model, with processes that come and go. */
export class ProjectionScene implements AsyncDisposable {
  readonly topic: string
  readonly open: OpenDatabase
  readonly #address: DatabaseAddress
  readonly #kafka: KafkaClient
  readonly #brokers: readonly string[]
  readonly #children: Child<ProjectionMessage>[] = []

  private constructor(topic: string, address: DatabaseAddress, kafka: KafkaClient, brokers: readonly string[]) {
    this.topic = topic
    this.open = openDatabase(address)
    this.#address = address
    this.#kafka = kafka
    this.#brokers = brokers
  }

  static async create(
    place: KafkaPlace,
    kafka: KafkaClient,
    address: DatabaseAddress,
    { name, partitions }: { readonly name: string; readonly partitions: number },
  ): Promise<ProjectionScene> {
    const scene = new ProjectionScene(await place.createTopic(name, { partitions }), address, kafka, place.bootstrap)
    await migrate(scene.open.database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    return scene
  }

  /** Starts a process. */
  process(
    task: Pick<ProjectionTask, 'does' | 'groupId' | 'revisions' | 'killAt' | 'maxPollRecords'>,
  ): Child<ProjectionMessage> {
    const own = { brokers: this.#brokers, topic: this.topic, database: this.#address }
    const child = new Child<ProjectionMessage>(new URL('./projection-process.ts', import.meta.url), { ...own, ...task })
    this.#children.push(child)
    return child
  }

  /** Writes records in this order, and waits until they are confirmed. */
  async write(records: readonly OutRecord[]): Promise<void> {
    await using producer = this.#kafka.producer('EVENT', { lingerMs: 5 })
    await Promise.all(records.map((record) => producer.send(record)))
  }

  /** Returns rows of the view; of these accounts if asked. */
  async rows(accounts?: readonly string[]): Promise<readonly CreditRow[]> {
    const where = accounts === undefined ? '' : ` where id in (${accounts.map(() => '?').join(', ')})`
    const rows = await this.open.query(
      `select id, version, total from credit_total${where} order by id`,
      ...(accounts ?? []),
    )
    return rows.map(({ id, version, total }) => ({
      account: String(id),
      version: Number(version),
      total: Number(total),
    }))
  }

  /** Returns the quarantined keys of a build. */
  async quarantined(number: number): Promise<readonly string[]> {
    const store = createProjectionStore(this.open.database)
    const found = await store.quarantined({ projection: 'credit_total', number }, { after: null, limit: 1_000 })
    return found.map(({ key }) => key)
  }

  /** Resolves when these groups have committed everything. */
  async committed(...groups: readonly string[]): Promise<void> {
    const [topic] = requireAllDone('Describing the topic', await this.#kafka.admin.describeTopics([this.topic]))
    const partitions = (topic?.partitions ?? []).map(({ partition }) => ({ topic: this.topic, partition }))
    await eventually(async () => {
      const ends = requireAllDone('Finding the ends', await this.#kafka.admin.listOffsets(partitions, 'LATEST'))
      for (const group of groups) {
        const offsets = requireAllDone('Reading offsets', await this.#kafka.admin.groupOffsets(group, partitions))
        for (const { partition, offset } of ends) {
          const committed = offsets.find((one) => one.partition === partition)?.committed ?? 0n
          if (committed !== (offset ?? 0n)) throw new Error(`${group} is at ${committed} of ${offset} in ${partition}`)
        }
      }
    }, patient)
  }

  /** Returns the values of dead letters, each once. */
  async dead(): Promise<ReadonlySet<string>> {
    const topic = `${this.topic}.DLT`
    const [described] = await this.#kafka.admin.describeTopics([topic])
    if (described?.outcome !== 'DONE') return new Set()
    return new Set((await readLog(this.#kafka, `${this.topic}-reader`, topic)).flat())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()))
    await this.open[Symbol.asyncDispose]()
  }
}
