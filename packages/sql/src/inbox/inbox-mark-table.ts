import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'
import { maxConsumerBytes, maxKeyBytes } from './mark-table.ts'

/** Returns the statements that create the table of marks. The index serves the purge. */
export function inboxMarkTable(table: string, dialect: SqlDialect): readonly string[] {
  const name = parseTableName(table, dialect)
  const index = name.index('_marked_at')
  switch (dialect) {
    case 'postgres':
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  consumer text NOT NULL,
  mark_key text NOT NULL,
  marked_at timestamptz NOT NULL,
  PRIMARY KEY (consumer, mark_key)
)`,
        `CREATE INDEX IF NOT EXISTS ${index} ON ${name.quoted} (marked_at)`,
      ]
    case 'mysql':
      // Binary, because text types compare without regard to case and trailing spaces.
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  consumer varbinary(${maxConsumerBytes}) NOT NULL,
  mark_key varbinary(${maxKeyBytes}) NOT NULL,
  marked_at datetime(6) NOT NULL,
  PRIMARY KEY (consumer, mark_key),
  KEY ${index} (marked_at)
) ENGINE = InnoDB`,
      ]
    case 'sqlite':
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  consumer TEXT NOT NULL,
  mark_key TEXT NOT NULL,
  marked_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, mark_key)
)`,
        `CREATE INDEX IF NOT EXISTS ${index} ON ${name.quoted} (marked_at)`,
      ]
  }
}
