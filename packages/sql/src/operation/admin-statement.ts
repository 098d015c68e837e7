import type { SqlConnection, SqlResult } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { needsMigration } from '../error/needs-migration.ts'

/** A row as the driver returns it. */
export type FoundRow = Readonly<Record<string, unknown>>

/** The clock of the database in epoch milliseconds, read by each statement anew. */
export const databaseNowMs: Readonly<Record<SqlDialect, string>> = {
  postgres: "floor(date_part('epoch', statement_timestamp()) * 1000)::bigint",
  mysql: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
  sqlite: "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
}

/** Sends a statement. @throws a MigrationMissingError if a table is missing */
export function sendStatement(
  connection: SqlConnection,
  dialect: SqlDialect,
  write: (bindings: Bindings) => string,
): Promise<SqlResult> {
  const bindings = grammarOf(dialect).bindings()
  const text = write(bindings)
  return needsMigration('admin', connection.query(text, bindings.values))
}

/** Returns an integer of 64 bits as text: some drivers round it. */
export function asText(column: string, dialect: SqlDialect): string {
  return `CAST(${column} AS ${dialect === 'mysql' ? 'CHAR' : 'text'})`
}

/** Adds a row unless one with its key exists. */
export function insertOnce(table: string, columns: string, values: readonly string[], dialect: SqlDialect): string {
  const row = `INTO ${table} (${columns}) VALUES (${values.join(', ')})`
  if (dialect !== 'mysql') return `INSERT ${row} ON CONFLICT DO NOTHING`
  // Not INSERT IGNORE, which would also cut values that are too long.
  return `INSERT ${row} ON DUPLICATE KEY UPDATE ${columns.split(', ')[0]} = ${columns.split(', ')[0]}`
}

export function inList(column: string, values: readonly string[], bindings: Bindings): string {
  return values.length === 0 ? '1 = 0' : `${column} IN (${values.map((value) => bindings.bind(value)).join(', ')})`
}
