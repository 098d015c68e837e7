import { createHash } from 'node:crypto'
import type { SqlConnection } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { parseTableName } from '../dialect/table-name.ts'

/** An applied migration, as recorded in the database. */
export interface AppliedMigration {
  readonly table: string
  readonly version: number
  readonly title: string
  readonly checksum: string
  /** Epoch ms. */
  readonly appliedAt: number
}

const historyTable = 'waybill_migration'

const historySql: Readonly<Record<SqlDialect, string>> = {
  postgres: `CREATE TABLE IF NOT EXISTS ${historyTable} (
  table_name varchar(128) NOT NULL,
  version integer NOT NULL,
  title varchar(128) NOT NULL,
  checksum char(64) NOT NULL,
  applied_at timestamptz NOT NULL,
  PRIMARY KEY (table_name, version)
)`,
  mysql: `CREATE TABLE IF NOT EXISTS ${historyTable} (
  table_name varchar(128) NOT NULL,
  version int NOT NULL,
  title varchar(128) NOT NULL,
  checksum char(64) NOT NULL,
  applied_at datetime(6) NOT NULL,
  PRIMARY KEY (table_name, version)
) ENGINE = InnoDB`,
  sqlite: `CREATE TABLE IF NOT EXISTS ${historyTable} (
  table_name TEXT NOT NULL,
  version INTEGER NOT NULL,
  title TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL,
  PRIMARY KEY (table_name, version)
)`,
}

/** Returns the checksum that later versions are compared with. Whitespace is layout and does not count. */
export function checksumOf(statements: readonly string[]): string {
  const text = statements.map((statement) => statement.replaceAll(/\s+/g, ' ')).join(';')
  return createHash('sha256').update(text).digest('hex')
}

/** Creates the history table if it does not exist. */
export async function createHistory(connection: SqlConnection, dialect: SqlDialect): Promise<void> {
  await connection.query(historySql[dialect], [])
}

/** Whether the history table exists. A status query must not create it. */
export async function hasHistory(connection: SqlConnection, dialect: SqlDialect): Promise<boolean> {
  const { rows } = await connection.query(historyLookup[dialect], [])
  return rows.length > 0
}

const historyLookup: Readonly<Record<SqlDialect, string>> = {
  postgres: `SELECT 1 AS found WHERE to_regclass('${historyTable}') IS NOT NULL`,
  mysql: `SELECT 1 AS found FROM information_schema.tables WHERE table_schema = database() AND table_name = '${historyTable}'`,
  sqlite: `SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = '${historyTable}'`,
}

export async function readHistory(connection: SqlConnection, dialect: SqlDialect): Promise<AppliedMigration[]> {
  const { epochMs } = grammarOf(dialect)
  const { rows } = await connection.query(
    `SELECT table_name, version, title, checksum, ${epochMs('applied_at')} AS applied_ms FROM ${historyTable}`,
    [],
  )
  return rows.map((row) => ({
    table: String(row['table_name']),
    version: Number(row['version']),
    title: String(row['title']),
    checksum: String(row['checksum']),
    appliedAt: Math.round(Number(row['applied_ms'])),
  }))
}

export async function writeHistory(
  connection: SqlConnection,
  dialect: SqlDialect,
  { table, version, title, checksum }: Omit<AppliedMigration, 'appliedAt'>,
): Promise<void> {
  const grammar = grammarOf(dialect)
  const bindings = grammar.bindings()
  const values = [table, version, title, checksum].map((value) => bindings.bind(value))
  await connection.query(
    `INSERT INTO ${historyTable} (table_name, version, title, checksum, applied_at) VALUES (${values.join(', ')}, ${grammar.now})`,
    bindings.values,
  )
}

/** Validates a name that becomes part of a statement's text. */
export function checkedTable(name: string, dialect: SqlDialect): string {
  return parseTableName(name, dialect).given
}
