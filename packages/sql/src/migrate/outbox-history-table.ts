import type { SqlDialect } from '../database/sql-database.ts'
import { outboxTables } from '../outbox/row/outbox-tables.ts'

/**
 * Returns the statements that create the history, to which a purge moves settled rows. Its index of times serves a
 * retention of your own.
 */
export function outboxHistoryTable(table: string, dialect: SqlDialect): readonly string[] {
  const name = outboxTables(table, dialect).history
  const index = name.index('_archived_at')
  switch (dialect) {
    case 'postgres':
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  seq bigint NOT NULL,
  event_id varchar(36) NOT NULL,
  event_type varchar(128) NOT NULL,
  aggregate_type varchar(64) NOT NULL,
  aggregate_id varchar(128),
  tenant_id varchar(64),
  payload json NOT NULL,
  headers json,
  status smallint NOT NULL,
  attempts integer NOT NULL,
  created_at timestamptz NOT NULL,
  done_at timestamptz,
  last_error text,
  occurred_at bigint NOT NULL,
  shard smallint NOT NULL,
  archived_at timestamptz NOT NULL,
  PRIMARY KEY (event_id, seq)
)`,
        `CREATE INDEX IF NOT EXISTS ${index} ON ${name.quoted} (archived_at)`,
      ]
    case 'mysql':
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  seq bigint NOT NULL,
  event_id varchar(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event_type varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  aggregate_type varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  aggregate_id varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  tenant_id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  payload longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  headers longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  status tinyint NOT NULL,
  attempts int NOT NULL,
  created_at datetime(6) NOT NULL,
  done_at datetime(6) NOT NULL,
  last_error text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  occurred_at bigint NOT NULL,
  shard smallint NOT NULL,
  archived_at datetime(6) NOT NULL,
  PRIMARY KEY (event_id, seq),
  KEY ${index} (archived_at)
) ENGINE = InnoDB`,
      ]
    case 'sqlite':
      return [
        `CREATE TABLE IF NOT EXISTS ${name.quoted} (
  seq INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT,
  tenant_id TEXT,
  payload TEXT NOT NULL,
  headers TEXT,
  status INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  last_error TEXT,
  occurred_at INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  archived_at INTEGER NOT NULL,
  PRIMARY KEY (event_id, seq)
)`,
        `CREATE INDEX IF NOT EXISTS ${index} ON ${name.quoted} (archived_at)`,
      ]
  }
}
