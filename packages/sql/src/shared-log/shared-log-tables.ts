import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'

/** The quoted names of the tables of shared logs. */
export interface SharedLogTables {
  /** The newest value of each key. */
  readonly entry: string
  /** The last position of each log. Its row is locked by each append, so positions are committed in their order. */
  readonly head: string
  /** The index of entries by position. */
  readonly positions: string
}

/** @throws an ArgumentError for an invalid table name */
export function sharedLogTables(base: string, dialect: SqlDialect): SharedLogTables {
  const name = parseTableName(base, dialect)
  const entry = name.beside('_log')
  return { entry: entry.quoted, head: name.beside('_log_head').quoted, positions: entry.index('_position') }
}

/** Returns the statements that create the tables of shared logs. */
export function sharedLogSchema(base: string, dialect: SqlDialect): readonly string[] {
  const { entry, head, positions } = sharedLogTables(base, dialect)
  const { text, key, longText, bigint, end } = types[dialect]
  // MySQL creates no index IF NOT EXISTS, so it is part of the table.
  const isInside = dialect === 'mysql'
  return [
    `CREATE TABLE IF NOT EXISTS ${head} (
  log ${text(64)} NOT NULL PRIMARY KEY,
  position ${bigint} NOT NULL
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${entry} (
  log ${text(64)} NOT NULL,
  entry_key ${key} NOT NULL,
  position ${bigint} NOT NULL,
  at_ms ${bigint} NOT NULL,
  body ${longText},
  PRIMARY KEY (log, entry_key)${isInside ? `,\n  INDEX ${positions} (log, position)` : ''}
)${end}`,
    ...(isInside ? [] : [`CREATE INDEX IF NOT EXISTS ${positions} ON ${entry} (log, position)`]),
  ]
}

const types = {
  postgres: {
    text: (length: number) => `varchar(${length}) COLLATE "C"`,
    key: 'varchar(600) COLLATE "C"',
    longText: 'text',
    bigint: 'bigint',
    end: '',
  },
  mysql: {
    text: (length: number) => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    // Bytes, because the collations that MySQL and MariaDB have in common ignore spaces at the end.
    key: 'varbinary(2400)',
    longText: 'longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    bigint: 'bigint',
    end: ' ENGINE = InnoDB',
  },
  sqlite: { text: () => 'TEXT', key: 'TEXT', longText: 'TEXT', bigint: 'INTEGER', end: '' },
} as const
