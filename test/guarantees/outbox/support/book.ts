import { migrate } from '@waybill/sql'
import { inDialect, type OpenDatabase } from './open-database.ts'

/** A row that a business transaction wrote together with its event. */
export interface BookRow {
  readonly eventId: string
  readonly value: string
  readonly key: string
  /** Increases within its key in commit order. */
  readonly number: number
}

/** A row of the outbox. */
export interface OutboxRow {
  readonly status: 'NEW' | 'DONE' | 'RETRY' | 'DEAD'
  readonly attempts: number
}

/** A row of the outbox with the value of its event. */
export interface TableRow {
  readonly value: string
  readonly key: string
  readonly status: OutboxRow['status']
}

const statuses = ['NEW', 'DONE', 'RETRY', 'DEAD'] as const

/**
 * The business table beside an outbox. It contains what was committed: events must be delivered for all of its rows and
 * no others.
 */
export class Book {
  readonly #open: OpenDatabase
  readonly #table: string

  constructor(open: OpenDatabase, table: string) {
    this.#open = open
    this.#table = table
  }

  /** Creates the tables of the outbox and the book. */
  async create(): Promise<void> {
    await migrate(this.#open.database, { tables: { outbox: this.#table, inbox: false } })
    await this.#open.query(
      `create table ${this.#name} (event_id varchar(36) primary key, value varchar(100) not null unique, ` +
        `event_key varchar(100) not null, number integer not null)`,
    )
  }

  /** Writes rows in the transaction of the handle. */
  async add(tx: unknown, rows: readonly BookRow[]): Promise<void> {
    const { database } = this.#open
    const places = rows.map(() => '(?, ?, ?, ?)').join(', ')
    const text = `insert into ${this.#name} (event_id, value, event_key, number) values ${places}`
    const values = rows.flatMap(({ eventId, value, key, number }) => [eventId, value, key, number])
    await database.enlist(tx).currentConnection().query(inDialect(text, database), values)
  }

  async count(): Promise<number> {
    const [row] = await this.#open.query(`select count(*) as rows_there from ${this.#name}`)
    return Number(row?.['rows_there'])
  }

  /** Returns the committed rows, each key in its order. */
  async rows(): Promise<BookRow[]> {
    const rows = await this.#open.query(`select * from ${this.#name} order by event_key, number`)
    return rows.map((row) => ({
      eventId: String(row['event_id']),
      value: String(row['value']),
      key: String(row['event_key']),
      number: Number(row['number']),
    }))
  }

  /** Returns the rows of the outbox by event id. */
  async outbox(): Promise<Map<string, OutboxRow>> {
    const rows = await this.#open.query(`select event_id, status, attempts from ${this.#table}`)
    return new Map(
      rows.map((row) => [
        String(row['event_id']),
        { status: statuses[Number(row['status'])] ?? 'NEW', attempts: Number(row['attempts']) },
      ]),
    )
  }

  /** Returns the rows of the outbox with their values, in the order of the table. */
  async table(): Promise<readonly TableRow[]> {
    const rows = await this.#open.query(
      `select o.seq, o.status, b.value, b.event_key from ${this.#table} o join ${this.#name} b on b.event_id = o.event_id ` +
        'order by o.seq',
    )
    return rows.map((row) => ({
      value: String(row['value']),
      key: String(row['event_key']),
      status: statuses[Number(row['status'])] ?? 'NEW',
    }))
  }

  /** Locks the row of a value until it is released, as an open transaction would. */
  async lockRow(value: string): Promise<AsyncDisposable> {
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { database } = this.#open
    const text = `select seq from ${this.#table} where event_id = (select event_id from ${this.#name} where value = ?) for update`
    const ended = database.transaction(async (tx) => {
      await database.enlist(tx).currentConnection().query(inDialect(text, database), [value])
      locked.resolve()
      await released.promise
    })
    ended.catch(locked.reject)
    await locked.promise
    return {
      [Symbol.asyncDispose]: async () => {
        released.resolve()
        await ended
      },
    }
  }

  /** Returns the number of undelivered events. */
  async pending(): Promise<number> {
    const [row] = await this.#open.query(`select count(*) as rows_there from ${this.#table} where status in (0, 2)`)
    return Number(row?.['rows_there'])
  }

  get #name(): string {
    return `${this.#table}_book`
  }
}
