import { type Runtime, StateError, UnavailableError } from '@waybill/core'
import type {
  BuildPosition,
  BuildTable,
  ClaimedPartition,
  ProjectionBuild,
  ProjectionStore,
  ProjectionTransaction,
  QuarantinedKey,
  SqlConnection,
  SqlResult,
  StoredRow,
} from '@waybill/core/internal'
import { beginImmediate } from '../database/begin-immediate.ts'
import { commitOrRollBack } from '../database/commit-or-roll-back.ts'
import { inTransaction } from '../database/mysql-transaction.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import { postgresStateOf } from '../error/postgres-state.ts'
import { BookStatements } from './book-statements.ts'
import type { ProjectionTables } from './projection-tables.ts'
import { type RowStatement, RowStatements } from './row-statements.ts'
import { SqlProjectionTransaction, sendTo } from './sql-projection-transaction.ts'

type BuildId = Pick<ProjectionBuild, 'projection' | 'number'>

/** A unique violation, a table, and an index that exists. */
const createdByAnother: ReadonlySet<string | undefined> = new Set(['23505', '42P07', '42710'])

/** On PostgreSQL IF NOT EXISTS fails if another connection creates the same at the same time: afterward it exists. */
async function createOnce(connection: SqlConnection, text: string): Promise<void> {
  try {
    await connection.query(text, [])
  } catch (error) {
    if (!createdByAnother.has(postgresStateOf(error))) throw error
    await connection.query(text, [])
  }
}

const viewLockSeconds = 60

/**
 * Runs the work while no other process changes this view of MySQL. The lock belongs to the session, because the change
 * commits a transaction, and one connection must be enough.
 */
async function whileViewIsLocked(connection: SqlConnection, view: string, work: () => Promise<void>): Promise<void> {
  // Lock names are server-wide, so the name includes the database.
  const name = "concat('waybill_view_', md5(concat(database(), '.', ?)))"
  const { rows } = await connection.query(`SELECT get_lock(${name}, ?) AS held`, [view, viewLockSeconds])
  if (Number(rows[0]?.['held']) !== 1)
    throw new UnavailableError(`Another process has been changing the view ${view} for ${viewLockSeconds} s.`)
  try {
    await work()
  } finally {
    await connection.query(`SELECT release_lock(${name}) AS released`, [view])
  }
}

/** Long enough for the batch of another process. */
const sqliteWaitMs = 5_000

/** The store of projections in a database, in its dialect. */
export class SqlProjectionStore implements ProjectionStore {
  readonly #database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>
  readonly #tables: ProjectionTables
  readonly #book: BookStatements
  readonly #runtime: Runtime
  readonly #rows = new Map<string, RowStatements>()

  constructor(
    database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>,
    tables: ProjectionTables,
    runtime: Runtime,
  ) {
    this.#database = database
    this.#tables = tables
    this.#book = new BookStatements(tables, database.dialect)
    this.#runtime = runtime
  }

  async transaction<T>(work: (tx: ProjectionTransaction) => Promise<T>): Promise<T> {
    let shown: BuildTable | undefined
    const value = await this.#database.connection(async (connection) => {
      const { dialect } = this.#database
      const run = (): Promise<T> => {
        shown = undefined
        const showLater = (table: BuildTable): void => {
          shown = table
        }
        const rowsOf = (table: BuildTable): RowStatements => this.#rowsOf(table)
        return work(
          new SqlProjectionTransaction(connection, {
            book: this.#book,
            tables: this.#tables,
            dialect,
            rowsOf,
            showLater,
          }),
        )
      }
      if (dialect === 'mysql') return inTransaction(connection, run)
      if (dialect === 'sqlite') await beginImmediate(connection, this.#runtime, sqliteWaitMs)
      else await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED', [])
      return commitOrRollBack(connection, run)
    })
    if (shown !== undefined) await this.#show(shown)
    return value
  }

  async ensureShown(table: BuildTable): Promise<void> {
    if (this.#database.dialect === 'mysql' && !(await this.#isShown(table))) await this.#show(table)
  }

  /** Returns whether the view of MySQL shows a table. */
  async #isShown({ projection, number }: BuildId): Promise<boolean> {
    const { view, rows } = this.#tables
    const body = await this.#database.connection((connection) =>
      connection.query(
        'SELECT VIEW_DEFINITION AS body FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?',
        [view(projection).replaceAll('`', '')],
      ),
    )
    return String(body.rows[0]?.['body']).includes(rows(projection, number))
  }

  /**
   * Makes the view of MySQL show a table, unless another one is live by now. Writers wait no longer, so this may wait for
   * readers: until it is done they see the former table.
   */
  async #show(table: BuildTable): Promise<void> {
    const view = this.#tables.view(table.projection)
    await this.#database.connection((connection) =>
      whileViewIsLocked(connection, view, async () => {
        const { rows } = await sendTo(connection, this.#book.builds(table.projection, 'NONE'))
        const state = rows.map((row) => this.#book.build(row)).find(({ number }) => number === table.number)?.state
        if (state === 'RETIRED' || state === 'FAILED' || state === 'CANCELLED') return
        await connection.query(`CREATE OR REPLACE VIEW ${view} AS ${this.#rowsOf(table).view()}`, [])
      }),
    )
  }

  async builds(projection: string): Promise<readonly ProjectionBuild[]> {
    return (await this.#send(this.#book.builds(projection, 'NONE'))).rows.map((row) => this.#book.build(row))
  }

  async read(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]> {
    if (keys.length === 0) return []
    const rows = this.#rowsOf(table)
    return (await this.#send(rows.select(keys, false))).rows.map((row) => rows.row(row))
  }

  async scan(table: BuildTable, after: string | null, limit: number, last?: string): Promise<readonly StoredRow[]> {
    const rows = this.#rowsOf(table)
    return (await this.#send(rows.scan(after, limit, last))).rows.map((row) => rows.row(row))
  }

  async positions(build: BuildId): Promise<readonly BuildPosition[]> {
    return (await this.#send(this.#book.positions(build))).rows.map((row) => this.#book.position(row))
  }

  async createTable(table: BuildTable): Promise<void> {
    await this.#database.connection(async (connection) => {
      for (const text of this.#rowsOf(table).create(this.#tables)) await createOnce(connection, text)
    })
  }

  async dropTable({ projection, number }: BuildId): Promise<void> {
    // The other databases refuse it themselves, or change the view with the build.
    if (this.#database.dialect === 'mysql' && (await this.#isShown({ projection, number })))
      throw new StateError(`The view ${projection} still shows the table of build ${number}`, {
        impact: 'The table was not dropped.',
        hint: 'A process that feeds the projection corrects the view when it starts. Try again then.',
      })
    await this.#database.connection(async (connection) => {
      for (const statement of this.#book.dropBuild({ projection, number })) await sendTo(connection, statement)
    })
  }

  async claim(build: BuildId, owner: string, leaseMs: number): Promise<ClaimedPartition | null> {
    return this.#database.connection(async (connection) => {
      const free = await sendTo(connection, this.#book.unleased(build, owner))
      for (const row of free.rows) {
        const found = this.#book.claimed(row)
        // Since then another worker may have claimed it, or its former holder may have moved its position on.
        const { changed } = await sendTo(connection, this.#book.claim(build, found, owner, leaseMs))
        if (changed > 0) return { ...found, epoch: found.epoch + 1 }
      }
      return null
    })
  }

  async quarantined(
    build: BuildId,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]> {
    return (await this.#send(this.#book.quarantined(build, after, limit))).rows.map((row) => this.#book.key(row))
  }

  async countQuarantined(build: BuildId): Promise<number> {
    return Number((await this.#send(this.#book.countQuarantined(build))).rows[0]?.['keys_found'])
  }

  #send(statement: RowStatement): Promise<SqlResult> {
    return this.#database.connection((connection: SqlConnection) => sendTo(connection, statement))
  }

  /** The statements of a table are computed once: their texts depend on its columns alone. */
  #rowsOf(table: BuildTable): RowStatements {
    const { projection, number, keyColumn, columns } = table
    const name = `${projection} ${number} ${keyColumn} ${Object.keys(columns).join(' ')}`
    let known = this.#rows.get(name)
    if (known === undefined) {
      const dialect: SqlDialect = this.#database.dialect
      known = new RowStatements(this.#tables, table, dialect)
      this.#rows.set(name, known)
    }
    return known
  }
}
