import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import { migrate } from '@waybill/sql'
import type { KafkaPlace } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { type DatabaseAddress, openDatabase } from '../../outbox/support/open-database.ts'
import { Child } from '../../support/child.ts'
import { readJournal } from '../../support/journal-file.ts'
import type { HandledOrder, OperatedMessage, OperatedTask, Order, ServiceVersion } from './operated-task.ts'

export const patient = { deadlineMs: 120_000, everyMs: 200 }
const script = new URL('./operated-process.ts', import.meta.url)

/** A request of an operator. */
export interface Asked {
  /** @defaultValue ana, who may do everything; others may read */
  readonly by?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer of the API. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- a story looks into answers of every shape
  readonly body: any
}

interface Instance {
  readonly child: Child<OperatedMessage>
  readonly url: string
}

/** Three instances of a service, and the operators who know it by its REST API alone. */
export class OperatedService implements AsyncDisposable {
  readonly topic: string
  readonly names: readonly string[] = ['shop-0', 'shop-1', 'shop-2']
  readonly written: Order[] = []
  readonly #place: KafkaPlace
  readonly #kafka: KafkaClient
  readonly #database: DatabaseAddress
  readonly #folder = mkdtempSync(join(tmpdir(), 'waybill-operated-'))
  readonly #instances = new Map<string, Instance>()
  readonly #past: Child<OperatedMessage>[] = []
  #asked = 0

  private constructor(place: KafkaPlace, kafka: KafkaClient, database: DatabaseAddress, topic: string) {
    this.#place = place
    this.#kafka = kafka
    this.#database = database
    this.topic = topic
  }

  static async create(place: KafkaPlace, kafka: KafkaClient, database: DatabaseAddress): Promise<OperatedService> {
    await using open = openDatabase(database)
    await migrate(open.database, { tables: { outbox: false, inbox: false, admin: 'waybill' } })
    return new OperatedService(place, kafka, database, await place.createTopic('orders', { partitions: 6 }))
  }

  /** Starts a version on all instances, one after the other, as a rolling deployment does. */
  async deploy(version: ServiceVersion): Promise<void> {
    for (const name of this.names) {
      const former = this.#instances.get(name)
      if (former !== undefined) {
        this.#instances.delete(name)
        assert.deepEqual(await former.child.terminate(), { code: 0, signal: null })
      }
      await this.start(name, version)
    }
  }

  async start(name: string, version: ServiceVersion): Promise<void> {
    const task: OperatedTask = {
      brokers: this.#place.bootstrap,
      database: this.#database,
      instance: name,
      version,
      topic: this.topic,
      groupId: `${this.topic}-shipping`,
      journal: this.#journal,
    }
    const child = new Child<OperatedMessage>(script, task)
    this.#past.push(child)
    const [listening] = await eventually(() => {
      const found = child.of('LISTENING')
      assert.equal(found.length, 1)
      return found
    }, patient)
    if (listening !== undefined) this.#instances.set(name, { child, url: listening.url })
  }

  async kill(name: string): Promise<void> {
    const instance = this.#instances.get(name)
    assert.ok(instance, name)
    this.#instances.delete(name)
    await instance.child.kill()
  }

  /** Returns the address of the console of an instance, with a final slash. */
  consoleOf(name: string): { readonly url: string } {
    const instance = this.#instances.get(name)
    assert.ok(instance, name)
    return { url: `${instance.url}/` }
  }

  /** Sends a request to the instances in turn. */
  async ask(method: string, path: string, { by = 'ana', body, headers = {} }: Asked = {}): Promise<Answered> {
    const urls = Array.from(this.#instances.values(), ({ url }) => url)
    const response = await fetch(`${urls[this.#asked++ % urls.length]}/eventbus${path}`, {
      method,
      headers: {
        authorization: `Bearer ${by}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  /** Repeats a read until its answer passes a check, which it returns. */
  async until(path: string, check: (body: Answered['body']) => void): Promise<Answered['body']> {
    return eventually(async () => {
      const { status, body } = await this.ask('GET', path)
      assert.deepEqual([status, body.detail], [200, undefined])
      check(body)
      return body
    }, patient)
  }

  /** Returns all items of a list. */
  async all(path: string): Promise<readonly Answered['body'][]> {
    const items: Answered['body'][] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Answered = await this.ask('GET', `${path}&limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`)
      assert.deepEqual([page.status, page.body.detail], [200, undefined])
      items.push(...page.body.items)
      cursor = page.body.next
    }
    return items
  }

  /** Writes orders, and waits until they are confirmed. */
  async write(orders: readonly Order[]): Promise<void> {
    this.written.push(...orders)
    await using producer = this.#kafka.producer('EVENT', { lingerMs: 5 })
    await Promise.all(
      orders.map((order) =>
        producer.send({ topic: this.topic, key: Buffer.from(order.order), value: Buffer.from(JSON.stringify(order)) }),
      ),
    )
  }

  /** Returns the orders that handlers completed, as often as they did. */
  handled(): readonly HandledOrder[] {
    return readJournal(this.#journal) as readonly HandledOrder[]
  }

  /** Returns the keys of the copies that an operation wrote, as often as each is there. */
  async copiesOf(operation: string): Promise<readonly string[]> {
    const [view] = requireAllDone('Describing the topic', await this.#kafka.admin.describeTopics([this.topic]))
    const partitions = (view?.partitions ?? []).map(({ partition }) => ({ topic: this.topic, partition }))
    const ends = requireAllDone('Finding its ends', await this.#kafka.admin.listOffsets(partitions, 'LATEST'))
    await using reader = this.#kafka.reader(
      ends.map(({ offset, ...one }) => ({ ...one, from: 0n, until: offset ?? 0n })),
    )
    const copies: KafkaRecord[] = []
    for (let records = await reader.next(1_000); records !== undefined; records = await reader.next(1_000))
      copies.push(...records.filter(({ headers }) => headers.text('x-eventbus-replay-operation') === operation))
    return copies.map(({ key }) => String(key))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#past.map((child) => child.kill()))
    rmSync(this.#folder, { recursive: true })
  }

  get #journal(): string {
    return join(this.#folder, 'handled')
  }
}
