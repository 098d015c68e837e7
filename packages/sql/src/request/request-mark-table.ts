import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'
import { maxNameBytes } from './request-table.ts'

/** Returns the statements that create the table of request marks. The index serves the purge. */
export function requestMarkTable(table: string, dialect: SqlDialect): readonly string[] {
  const name = parseTableName(table, dialect)
  const index = name.index('_expires_at')
  const { nameType, markType, timeType } = columnTypes[dialect]
  const columns = `
  name ${nameType} NOT NULL PRIMARY KEY,
  mark ${markType} NOT NULL,
  expires_at ${timeType} NOT NULL`
  if (dialect === 'mysql')
    return [`CREATE TABLE IF NOT EXISTS ${name.quoted} (${columns},\n  KEY ${index} (expires_at)\n) ENGINE = InnoDB`]
  return [
    `CREATE TABLE IF NOT EXISTS ${name.quoted} (${columns}\n)`,
    `CREATE INDEX IF NOT EXISTS ${index} ON ${name.quoted} (expires_at)`,
  ]
}

// Binary on MySQL, because its text types compare without regard to case and trailing spaces.
const columnTypes: Readonly<Record<SqlDialect, { nameType: string; markType: string; timeType: string }>> = {
  postgres: { nameType: 'text', markType: 'text', timeType: 'timestamptz' },
  mysql: { nameType: `varbinary(${maxNameBytes})`, markType: 'mediumblob', timeType: 'datetime(6)' },
  sqlite: { nameType: 'TEXT', markType: 'TEXT', timeType: 'INTEGER' },
}
