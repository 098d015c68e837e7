import type { SqlDialect } from '../database/sql-database.ts'
import { adminTables } from './admin-tables.ts'

/** Returns the statements that create the tables of operations and of the audit log. */
export function adminSchema(table: string, dialect: SqlDialect): readonly string[] {
  const { operation, item, tally, audit, index } = adminTables(table, dialect)
  const { text, longText, integer, bigint, end } = columnTypes[dialect]
  const indexed = (of: 'operation' | 'audit', suffix: string, columns: string): string =>
    `${index(of, suffix)} ${columns}`
  // MySQL creates no index IF NOT EXISTS, so its indexes are part of their table.
  const inside = (lines: readonly string[]): string =>
    dialect === 'mysql' ? lines.map((line) => `,\n  INDEX ${line}`).join('') : ''
  const beside = (on: string, lines: readonly string[]): readonly string[] =>
    dialect === 'mysql'
      ? []
      : lines.map((line) => {
          const [name = '', ...columns] = line.split(' ')
          return `CREATE INDEX IF NOT EXISTS ${name} ON ${on} ${columns.join(' ')}`
        })
  const operationIndexes = [indexed('operation', '_state', '(state, id)')]
  const auditIndexes = [indexed('audit', '_at', '(at_ms)')]
  return [
    `CREATE TABLE IF NOT EXISTS ${operation} (
  id ${text(29)} NOT NULL PRIMARY KEY,
  v ${integer} NOT NULL,
  type ${text(32)} NOT NULL,
  target ${text(255)} NOT NULL,
  state ${text(16)} NOT NULL,
  by_whom ${text(255)} NOT NULL,
  idempotency_key ${text(128)},
  created_at ${bigint} NOT NULL,
  expires_at ${bigint},
  ended_at ${bigint},
  owner ${text(128)},
  lease_version ${bigint} NOT NULL DEFAULT 0,
  lease_until ${bigint},
  items ${integer} NOT NULL DEFAULT 0,
  frozen ${longText} NOT NULL,
  body ${longText} NOT NULL,
  intended ${longText},
  UNIQUE (by_whom, idempotency_key)${inside(operationIndexes)}
)${end}`,
    ...beside(operation, operationIndexes),
    `CREATE TABLE IF NOT EXISTS ${item} (
  id ${text(29)} NOT NULL,
  no ${integer} NOT NULL,
  topic ${text(249)} NOT NULL,
  part ${integer} NOT NULL,
  record_offset ${bigint} NOT NULL,
  outcome ${text(16)} NOT NULL,
  detail ${longText} NOT NULL,
  PRIMARY KEY (id, no),
  UNIQUE (id, topic, part, record_offset, outcome)
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${tally} (
  id ${text(29)} NOT NULL,
  instance ${text(255)} NOT NULL,
  succeeded ${bigint} NOT NULL,
  retrying ${bigint} NOT NULL,
  failed_again ${bigint} NOT NULL,
  skipped ${bigint} NOT NULL,
  PRIMARY KEY (id, instance)
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${audit} (
  id ${text(26)} NOT NULL,
  phase ${integer} NOT NULL,
  at_ms ${bigint} NOT NULL,
  by_whom ${text(255)} NOT NULL,
  operation ${text(64)} NOT NULL,
  target ${text(255)} NOT NULL,
  outcome ${text(16)} NOT NULL,
  body ${longText} NOT NULL,
  PRIMARY KEY (id, phase)${inside(auditIndexes)}
)${end}`,
    ...beside(audit, auditIndexes),
  ]
}

/** The types of columns of the tables of operators. */
export const columnTypes = {
  postgres: {
    // Bytewise, so that the order of ids is the same everywhere.
    text: (length: number) => `varchar(${length}) COLLATE "C"`,
    longText: 'text',
    integer: 'integer',
    bigint: 'bigint',
    end: '',
  },
  mysql: {
    text: (length: number) => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    longText: 'longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    integer: 'int',
    bigint: 'bigint',
    end: ' ENGINE = InnoDB',
  },
  sqlite: { text: () => 'TEXT', longText: 'TEXT', integer: 'INTEGER', bigint: 'INTEGER', end: '' },
} as const
