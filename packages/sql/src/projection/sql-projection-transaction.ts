import type {
  BuildPosition,
  BuildState,
  BuildTable,
  ClaimedPartition,
  ProjectionBuild,
  ProjectionTransaction,
  QuarantinedKey,
  SqlConnection,
  SqlResult,
  StoredRow,
} from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { needsMigration } from '../error/needs-migration.ts'
import { postgresStateOf } from '../error/postgres-state.ts'
import type { BookStatements } from './book-statements.ts'
import type { ProjectionTables } from './projection-tables.ts'
import type { RowStatement, RowStatements } from './row-statements.ts'

type BuildId = Pick<ProjectionBuild, 'projection' | 'number'>

/** The parts of a store that its transactions use. */
export interface TransactionParts {
  readonly book: BookStatements
  readonly tables: ProjectionTables
  readonly dialect: SqlDialect
  readonly rowsOf: (table: BuildTable) => RowStatements
  /** Changes the view after COMMIT. */
  readonly showLater: (table: BuildTable) => void
}

/** A column of the view would change its name or type, or go away. */
const invalidViewChange = '42P16'

/** Returns the statements that grant again what others than its owner may do with a view: it is lost with the view. */
const privilegesOf = `
  SELECT format('GRANT %s ON %s TO %s%s', a.privilege_type, c.oid::regclass,
           CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
           CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS granted
  FROM pg_class c, aclexplode(c.relacl) a
  WHERE c.oid = $1::regclass AND a.grantee <> c.relowner`

/** Sends a statement. @throws a MigrationMissingError if a table is missing */
export function sendTo(connection: SqlConnection, { text, values }: RowStatement): Promise<SqlResult> {
  return needsMigration('projection', connection.query(text, values))
}

/** The operations of an open transaction. */
export class SqlProjectionTransaction implements ProjectionTransaction {
  readonly #connection: SqlConnection
  readonly #parts: TransactionParts
  readonly #book: BookStatements

  constructor(connection: SqlConnection, parts: TransactionParts) {
    this.#connection = connection
    this.#parts = parts
    this.#book = parts.book
  }

  async lock(projection: string, mode: 'SHARED' | 'EXCLUSIVE'): Promise<readonly ProjectionBuild[]> {
    const isPostgres = this.#parts.dialect === 'postgres'
    if (isPostgres && mode === 'EXCLUSIVE') await this.#send({ text: `SET LOCAL lock_timeout = '3s'`, values: [] })
    if (isPostgres) await this.#send(this.#book.lockProjection(projection, mode))
    if (mode === 'EXCLUSIVE') {
      await this.#send(this.#book.addControl(projection))
      await this.#send(this.#book.lockControl(projection))
    }
    return (await this.#send(this.#book.builds(projection, mode))).rows.map((row) => this.#book.build(row))
  }

  async addBuild(build: Omit<ProjectionBuild, 'changedAt' | 'reason'>): Promise<void> {
    await this.#send(this.#book.addBuild(build))
  }

  async setState(build: BuildId, state: BuildState, reason: string | null = null): Promise<void> {
    await this.#send(this.#book.setState(build, state, reason))
  }

  async show(table: BuildTable): Promise<void> {
    const view = this.#parts.tables.view(table.projection)
    const body = this.#parts.rowsOf(table).view()
    switch (this.#parts.dialect) {
      case 'postgres':
        return this.#showOnPostgres(view, body)
      case 'mysql':
        // Each DDL statement commits, so the view follows the transaction.
        return this.#parts.showLater(table)
      case 'sqlite':
        await this.#connection.query(`DROP VIEW IF EXISTS ${view}`, [])
        await this.#connection.query(`CREATE VIEW ${view} AS ${body}`, [])
    }
  }

  async readLocked(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]> {
    if (keys.length === 0) return []
    const rows = this.#parts.rowsOf(table)
    return (await this.#send(rows.select(keys, true))).rows.map((row) => rows.row(row))
  }

  async write(table: BuildTable, rows: readonly StoredRow[]): Promise<void> {
    if (rows.length === 0) return
    for (const statement of this.#parts.rowsOf(table).upsert(rows)) await this.#send(statement)
  }

  async restore(table: BuildTable, row: StoredRow): Promise<void> {
    for (const statement of this.#parts.rowsOf(table).replace({ ...row, isQuarantined: false }))
      await this.#send(statement)
    await this.#send(this.#book.deleteQuarantined(table, row.key))
  }

  async lockPositions(
    build: BuildId,
    partitions: readonly Omit<BuildPosition, 'next'>[],
  ): Promise<readonly BuildPosition[]> {
    const positions: BuildPosition[] = []
    for (const one of inOrder(partitions)) positions.push(await this.#lockPosition(build, one))
    return positions
  }

  async positions(build: BuildId): Promise<readonly BuildPosition[]> {
    return (await this.#send(this.#book.positions(build))).rows.map((row) => this.#book.position(row))
  }

  async advance(build: BuildId, positions: readonly BuildPosition[]): Promise<void> {
    for (const one of inOrder(positions)) {
      const { changed } = await this.#send(this.#book.advance(build, one))
      if (changed > 0) continue
      // Not there yet, or further on already.
      await this.#send(this.#book.addPosition(build, one))
      await this.#send(this.#book.advance(build, one))
    }
  }

  async advanceClaimed(build: BuildId, claimed: ClaimedPartition, next: bigint, leaseMs: number): Promise<boolean> {
    return (await this.#send(this.#book.advanceClaimed(build, claimed, next, leaseMs))).changed > 0
  }

  async quarantine(table: BuildTable, entry: Omit<QuarantinedKey, 'since' | 'last'>): Promise<boolean> {
    const rows = this.#parts.rowsOf(table)
    const version = entry.expected - 1
    const marked = await this.#send(rows.quarantine(entry.key, version))
    if (marked.changed === 0) {
      if (version > 0) return false
      const added = await this.#send(rows.quarantineAbsent(entry.key))
      if (added.changed === 0) return false
    }
    await this.#send(this.#book.addQuarantined(table, entry))
    return true
  }

  async quarantined(
    build: BuildId,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]> {
    return (await this.#send(this.#book.quarantined(build, after, limit))).rows.map((row) => this.#book.key(row))
  }

  async extendQuarantine(build: BuildId, key: string, version: number): Promise<boolean> {
    return (await this.#send(this.#book.extendQuarantined(build, key, version))).changed > 0
  }

  async lockQuarantined(build: BuildId, key: string): Promise<QuarantinedKey | undefined> {
    const { rows } = await this.#send(this.#book.lockQuarantined(build, key))
    return rows[0] === undefined ? undefined : this.#book.key(rows[0])
  }

  async #lockPosition(build: BuildId, one: Omit<BuildPosition, 'next'>): Promise<BuildPosition> {
    for (;;) {
      const { rows } = await this.#send(this.#book.lockPosition(build, one))
      if (rows[0] !== undefined) return this.#book.position(rows[0])
      await this.#send(this.#book.addPosition(build, one))
    }
  }

  /** A view is replaced in place if only columns are added at its end; otherwise it is created again. */
  async #showOnPostgres(view: string, body: string): Promise<void> {
    await this.#connection.query('SAVEPOINT waybill_view', [])
    try {
      await this.#connection.query(`CREATE OR REPLACE VIEW ${view} AS ${body}`, [])
    } catch (error) {
      await this.#connection.query('ROLLBACK TO SAVEPOINT waybill_view', [])
      if (postgresStateOf(error) !== invalidViewChange) throw error
      const { rows } = await this.#connection.query(privilegesOf, [view])
      await this.#connection.query(`DROP VIEW ${view}`, [])
      await this.#connection.query(`CREATE VIEW ${view} AS ${body}`, [])
      for (const { granted } of rows) await this.#connection.query(String(granted), [])
    }
  }

  #send(statement: RowStatement): Promise<SqlResult> {
    return sendTo(this.#connection, statement)
  }
}

/** All transactions lock in the same order. */
function inOrder<T extends Omit<BuildPosition, 'next'>>(partitions: readonly T[]): T[] {
  return partitions.toSorted((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
}
