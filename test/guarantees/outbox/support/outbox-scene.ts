import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore } from '@waybill/sql'
import { eventually } from '@waybill/testkit'
import { Child, type Ended } from '../../support/child.ts'
import { openJournal } from '../../support/journal-file.ts'
import { Book, type BookRow, type OutboxRow } from './book.ts'
import { DeliveryJournal, type DeliveryLine, type Misdeeds, noMisdeeds } from './delivery-journal.ts'
import { type DatabaseAddress, type OpenDatabase, openDatabase } from './open-database.ts'
import { guaranteeEvents, type OutboxMessage, type OutboxTask, type Writing } from './outbox-task.ts'

/** How the nodes of a scene work. */
export type SceneOptions = Pick<OutboxTask, 'mode' | 'leaseMs'> &
  Partial<Pick<OutboxTask, 'handleMs' | 'kafka' | 'whenDone'>>

export type Node = Child<OutboxMessage>

export const patient = { deadlineMs: 90_000, everyMs: 100 }

/** Only delivers events of others. */
export const writesNothing: Writing = { until: 0, lanes: 0, events: 1, everyMs: 0 }

/** Violations that must be absent once everything is settled. */
interface Findings extends Misdeeds {
  /** Committed events whose listener never succeeded. */
  readonly lost: readonly string[]
  /** Delivered events that were not committed. */
  readonly phantoms: readonly string[]
  /** Committed events whose writer got another outcome. */
  readonly mistold: readonly string[]
  /** Events without their business row. */
  readonly orphans: readonly string[]
  /** Rows that do not show the outcome of their event. */
  readonly misshown: readonly string[]
  readonly disorder: readonly string[]
}

const nothingFound: Findings = {
  ...noMisdeeds,
  lost: [],
  phantoms: [],
  mistold: [],
  orphans: [],
  misshown: [],
  disorder: [],
}

/** The modes that keep the order of a key. */
const ordering: ReadonlySet<OutboxTask['mode']> = new Set(['keyed', 'leasing', 'ordered'])

/** Counts scenes: those of one file share a database. */
let opened = 0

/** One outbox with its book, and nodes in processes of their own that come and go. */
export class OutboxScene implements AsyncDisposable {
  readonly book: Book
  readonly table: string
  readonly #address: DatabaseAddress
  readonly #open: OpenDatabase
  readonly #options: SceneOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'waybill-outbox-'))
  readonly #nodes: Node[] = []
  readonly #note: (line: DeliveryLine) => void

  private constructor(address: DatabaseAddress, options: SceneOptions) {
    this.#address = address
    this.#options = options
    this.table = `scene_${++opened}`
    this.#open = openDatabase(address)
    this.book = new Book(this.#open, this.table)
    this.#note = openJournal(this.#journalPath)
  }

  static async open(address: DatabaseAddress, options: SceneOptions): Promise<OutboxScene> {
    const scene = new OutboxScene(address, options)
    await scene.book.create()
    return scene
  }

  get journal(): DeliveryJournal {
    return new DeliveryJournal(this.#journalPath)
  }

  /** Writes events of one key in one transaction, without delivering them. */
  async write(key: string, values: readonly string[]): Promise<void> {
    const { database } = this.#open
    const outbox = Outbox.writerOnly({
      events: guaranteeEvents('nowhere'),
      database,
      store: createOutboxStore(database, { table: this.table }),
    })
    await database.transaction(async (tx) => {
      const rows: BookRow[] = []
      for (const [number, value] of values.entries())
        rows.push({ eventId: String(await outbox.write(tx, 'value.noted', { value, key })), value, key, number })
      await this.book.add(tx, rows)
    })
  }

  /** Returns finished rows that have a pending one before them: of their key, in `ordered` in the table (I22). */
  async gaps(): Promise<string[]> {
    const pending = new Map<string, string>()
    return (await this.book.table()).flatMap(({ key, value, status }) => {
      const order = this.#options.mode === 'ordered' ? '' : key
      const before = pending.get(order)
      if (status === 'NEW' || status === 'RETRY') pending.set(order, before ?? value)
      else if (before !== undefined) return [`${value} is ${status} before ${before}`]
      return []
    })
  }

  /** Returns repeats without everything behind them (I22). */
  async halfRepeats(): Promise<string[]> {
    const rows = await this.book.table()
    const isWhole = this.#options.mode === 'ordered'
    return this.journal.halfRepeats(rows.map(({ key, value }) => ({ key: isWhole ? '' : key, value })))
  }

  /** Starts a node in a process of its own. One that dies early may do so before it reports RUNNING. */
  node(writing: Writing, overrides: Partial<OutboxTask> = {}): Node {
    const task: OutboxTask = {
      database: this.#address,
      table: this.table,
      journal: this.#journalPath,
      handleMs: 0,
      whenDone: 'KEEP',
      writing,
      ...this.#options,
      ...overrides,
    }
    const node = new Child<OutboxMessage>(new URL('./outbox-process.ts', import.meta.url), task)
    this.#nodes.push(node)
    return node
  }

  /** Waits until a node runs. */
  async running(node: Node): Promise<void> {
    await node.messages.wait({ deadlineMs: patient.deadlineMs })
  }

  /** Waits for the end of a node that kills itself. */
  async died(node: Node): Promise<Ended> {
    const ended = await node.ended
    this.#noteKilled(node)
    return ended
  }

  async kill(node: Node): Promise<void> {
    await node.kill()
    this.#noteKilled(node)
  }

  /**
   * Terminates a node gracefully.
   *
   * @returns its counters
   */
  async end(node: Node): Promise<Readonly<Record<string, number>>> {
    await this.running(node) // A starting process does not handle SIGTERM yet.
    assert.deepEqual(await node.terminate(), { code: 0, signal: null })
    return node.of('STOPPED')[0]?.counters ?? {}
  }

  /** Resolves when these nodes write no more, the book has that many rows, and none of their events is pending. */
  async settled(rows: number, writers: readonly Node[], deadlineMs: number = patient.deadlineMs): Promise<void> {
    await eventually(
      async () => {
        assert.ok(writers.every((node) => node.of('WRITTEN').length > 0))
        assert.ok((await this.book.count()) >= rows)
        assert.equal(await this.book.pending(), 0)
      },
      { ...patient, deadlineMs },
    )
  }

  /** Returns the values whose events are finished in the table. */
  async finished(): Promise<Set<string>> {
    const [rows, outbox] = [await this.book.rows(), await this.book.outbox()]
    return new Set(rows.filter(({ eventId }) => isFinished(outbox.get(eventId))).map(({ value }) => value))
  }

  /**
   * Compares committed with delivered events, once none is pending.
   *
   * @param losesLeases - whether live nodes may lose leases, and so repeat events or deliver them side by side
   */
  async expectNothingWrong(
    losesLeases = false,
  ): Promise<{ readonly rows: readonly BookRow[]; readonly journal: DeliveryJournal }> {
    const { journal } = this
    const [rows, outbox] = [await this.book.rows(), await this.book.outbox()]
    const committed = new Set(rows.map(({ value }) => value))
    const ids = new Set(rows.map(({ eventId }) => eventId))
    const [ok, dead] = [new Set(journal.values('OK')), new Set(journal.values('DEAD'))]
    const findings: Findings = {
      ...journal.misdeeds(),
      ...(losesLeases ? { sideBySide: [], unexplained: [] } : {}),
      lost: [...committed].filter((value) => !(value.startsWith('DEAD') ? dead : ok).has(value)),
      phantoms: [...new Set(journal.values('START'))].filter((value) => !committed.has(value)),
      mistold: journal.values('ROLLED_BACK').filter((value) => committed.has(value)),
      orphans: [...outbox.keys()].filter((id) => !ids.has(id)),
      misshown: rows
        .filter(({ value, eventId }) => !this.#isShown(value, outbox.get(eventId)))
        .map(({ value }) => value),
      disorder: ordering.has(this.#options.mode) ? journal.disorder(rows) : [],
    }
    assert.deepEqual(findings, nothingFound)
    return { rows, journal }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.kill()))
    await this.#open[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true })
  }

  get #journalPath(): string {
    return join(this.#folder, 'deliveries')
  }

  #isShown(value: string, row: OutboxRow | undefined): boolean {
    if (value.startsWith('DEAD')) return row?.status === 'DEAD'
    return this.#options.whenDone === 'DELETE' ? row === undefined : row?.status === 'DONE'
  }

  #noteKilled({ pid }: Node): void {
    this.#note({ pid, step: 'KILLED', value: '', key: '', attempt: 0 })
  }
}

function isFinished(row: OutboxRow | undefined): boolean {
  return row === undefined || row.status === 'DONE' || row.status === 'DEAD'
}
