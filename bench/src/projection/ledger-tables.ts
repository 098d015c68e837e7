import { fromPg, migrate } from '@waybill/sql'
import pg from 'pg'
import { postgresUrl, urlOf } from '../outbox/postgres-tables.ts'

/** A database of this run, with the table of the hand-written contestants. */
export class LedgerTables implements AsyncDisposable {
  readonly pool: pg.Pool
  readonly #admin: pg.Pool
  readonly #name: string

  private constructor(admin: pg.Pool, name: string) {
    this.#admin = admin
    this.#name = name
    this.pool = new pg.Pool({ connectionString: urlOf(postgresUrl, name), max: 4 })
    this.pool.on('error', () => {}) // The database is dropped while a session is still open.
  }

  static async create(): Promise<LedgerTables> {
    const admin = new pg.Pool({ connectionString: postgresUrl, max: 1 })
    const name = `bench_projection_${process.pid}`
    await admin.query(`CREATE DATABASE ${name}`)
    const tables = new LedgerTables(admin, name)
    await migrate(fromPg(tables.pool), { tables: { outbox: false, inbox: false, projection: 'projection' } })
    await tables.pool.query(
      'CREATE TABLE reference_balance (account_id text PRIMARY KEY, balance bigint, credits bigint, version bigint) ' +
        'WITH (fillfactor = 80)',
    )
    return tables
  }

  /** Empties every table. */
  async empty(): Promise<void> {
    await this.pool.query('DROP VIEW IF EXISTS bench_balance')
    const { rows } = await this.pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'bench_balance_b%'`,
    )
    for (const { name } of rows) await this.pool.query(`DROP TABLE ${name}`)
    await this.pool.query(
      'TRUNCATE reference_balance, projection, projection_build, projection_position, projection_quarantine',
    )
  }

  /** The sum that every contestant must end with. */
  async sumOf(table: string): Promise<number> {
    const { rows } = await this.pool.query<{ sum: string }>(`SELECT sum(balance) AS sum FROM ${table}`)
    return Number(rows[0]?.sum)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.end()
    await this.#admin.query(`DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`)
    await this.#admin.end()
  }
}
