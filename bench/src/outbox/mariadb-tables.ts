import { fromMysql2, migrate } from '@waybill/sql'
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { aggregateType, eventType, keys, payloads, shards } from './bench-events.ts'
import { urlOf } from './postgres-tables.ts'

/** The MariaDB server, on which the benchmark creates a database of its own. */
const mysqlUrl: string = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test'

/** The table of a hand-written outbox: the specification's columns, nullable as there, and an index in delivery order. */
const referenceTable = `CREATE TABLE reference_event (
  seq bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, event_id varchar(36) NOT NULL UNIQUE, event_type varchar(128) NOT NULL,
  aggregate_type varchar(64) NOT NULL, aggregate_id varchar(128), tenant_id varchar(64), payload json NOT NULL, headers json,
  status tinyint NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, available_at datetime(6) NOT NULL,
  created_at datetime(6) NOT NULL, done_at datetime(6), last_error text, locked_by varchar(128), locked_at datetime(6),
  occurred_at bigint NOT NULL, shard smallint NOT NULL, lease_version bigint NOT NULL DEFAULT 0,
  KEY by_time (status, available_at, seq)
) ENGINE = InnoDB`

const rowsAtOnce = 2_000
const batch = 500
const columns =
  'seq, event_id, event_type, aggregate_type, aggregate_id, tenant_id, CAST(payload AS CHAR) AS payload, headers, occurred_at, attempts'

/** The tables on MariaDB, in a database of this run. */
export class MariaDbTables implements AsyncDisposable {
  readonly url: string
  readonly #admin: Pool
  readonly #name: string
  readonly #pool: Pool

  private constructor(admin: Pool, name: string) {
    this.#admin = admin
    this.#name = name
    this.url = urlOf(mysqlUrl, name)
    this.#pool = createPool({ uri: this.url, connectionLimit: 2 })
  }

  static async create(): Promise<MariaDbTables> {
    const admin = createPool({ uri: mysqlUrl, connectionLimit: 1 })
    const name = `bench_outbox_${process.pid}`
    await admin.query(`CREATE DATABASE ${name}`)
    const tables = new MariaDbTables(admin, name)
    await migrate(fromMysql2(tables.#pool), { tables: { inbox: false } })
    await tables.#pool.query(referenceTable)
    return tables
  }

  /** Empties a table and fills it. */
  async seed(table: string, rows: number): Promise<void> {
    await this.#pool.query(`TRUNCATE ${table}`)
    const createdAt = new Date(Date.now() - 60_000)
    for (let from = 0; from < rows; from += rowsAtOnce) {
      const values = Array.from({ length: Math.min(rowsAtOnce, rows - from) }, (_, at) => {
        const key = (from + at) % keys.length
        const id = `E${String(from + at).padStart(25, '0')}`
        return [id, eventType, aggregateType, keys[key], payloads[key], createdAt, createdAt, Date.now(), shards[key]]
      })
      await this.#pool.query(
        `INSERT INTO ${table} (event_id, event_type, aggregate_type, aggregate_id, payload, available_at, created_at, occurred_at, shard) VALUES ?`,
        [values],
      )
    }
    await this.#pool.query(`ANALYZE TABLE ${table}`)
  }

  /** Throws when a contestant left rows behind. */
  async requireDrained(table: string): Promise<void> {
    const [rows] = await this.#pool.query(`SELECT count(*) AS pending FROM ${table} WHERE status <> 1`)
    const left = Number((rows as { readonly pending: number }[])[0]?.pending)
    if (left > 0) throw new Error(`${left} rows of ${table} were not delivered.`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
    await this.#admin.query(`DROP DATABASE ${this.#name}`)
    await this.#admin.end()
  }
}

/** Claims 500 rows in a short transaction and finishes them with one UPDATE, on one connection. */
export async function drainReference(connection: PoolConnection, done: (events: number) => void): Promise<void> {
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
  for (;;) {
    await connection.query('START TRANSACTION')
    const [rows] = await connection.query(
      `SELECT ${columns} FROM reference_event WHERE status = 0 AND available_at <= now(6) ` +
        `AND (locked_at IS NULL OR locked_at < now(6) - INTERVAL 30 SECOND) ` +
        `ORDER BY available_at, seq LIMIT ${batch} FOR UPDATE SKIP LOCKED`,
    )
    const seqs = (rows as { readonly seq: number }[]).map(({ seq }) => seq)
    if (seqs.length > 0)
      await connection.query(
        `UPDATE reference_event SET locked_by = 'raw', locked_at = now(6), lease_version = 1 WHERE seq IN (?)`,
        [seqs],
      )
    await connection.query('COMMIT')
    if (seqs.length === 0) return
    await connection.query(
      `UPDATE reference_event SET status = 1, done_at = now(6), locked_by = NULL, locked_at = NULL ` +
        `WHERE seq IN (?) AND lease_version = 1 AND status <> 1`,
      [seqs],
    )
    done(seqs.length)
  }
}
