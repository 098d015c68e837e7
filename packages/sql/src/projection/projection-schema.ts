import type { SqlDialect } from '../database/sql-database.ts'
import { projectionTables } from './projection-tables.ts'

/**
 * Returns the statements that create the bookkeeping tables of projections. The tables of read models are created by
 * their builds.
 */
export function projectionSchema(table: string, dialect: SqlDialect): readonly string[] {
  const { control, build, position, quarantine } = projectionTables(table, dialect)
  const { text, longText, integer, bigint, end } = types[dialect]
  const key = (length: number): string => text(length)
  return [
    `CREATE TABLE IF NOT EXISTS ${control} (
  projection ${key(64)} NOT NULL PRIMARY KEY
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${build} (
  projection ${key(64)} NOT NULL,
  build ${integer} NOT NULL,
  revision ${integer} NOT NULL,
  fingerprint ${key(64)} NOT NULL,
  state ${key(16)} NOT NULL,
  reason ${longText},
  changed_at ${bigint} NOT NULL,
  PRIMARY KEY (projection, build)
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${position} (
  projection ${key(64)} NOT NULL,
  build ${integer} NOT NULL,
  topic ${key(249)} NOT NULL,
  part ${integer} NOT NULL,
  next_offset ${bigint} NOT NULL,
  epoch ${bigint} NOT NULL DEFAULT 0,
  owner ${key(128)},
  leased_until ${bigint} NOT NULL DEFAULT 0,
  PRIMARY KEY (projection, build, topic, part)
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${quarantine} (
  projection ${key(64)} NOT NULL,
  build ${integer} NOT NULL,
  row_key ${key(255)} NOT NULL,
  reason ${key(16)} NOT NULL,
  expected ${bigint} NOT NULL,
  found ${bigint} NOT NULL,
  last_seen ${bigint} NOT NULL,
  since ${bigint} NOT NULL,
  PRIMARY KEY (projection, build, row_key)
)${end}`,
  ]
}

const types = {
  postgres: {
    // Bytewise, so that the order of keys is the same everywhere.
    text: (length: number) => `varchar(${length}) COLLATE "C"`,
    longText: 'text',
    integer: 'integer',
    bigint: 'bigint',
    end: '',
  },
  mysql: {
    text: (length: number) => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    longText: 'text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    integer: 'int',
    bigint: 'bigint',
    end: ' ENGINE = InnoDB',
  },
  sqlite: { text: () => 'TEXT', longText: 'TEXT', integer: 'INTEGER', bigint: 'INTEGER', end: '' },
} as const
