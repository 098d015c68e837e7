import type { SqlDialect } from '../database/sql-database.ts'
import { outboxTables } from '../outbox/row/outbox-tables.ts'

/** Returns the statements that create the lease table. It has at most a few hundred rows, updated in place. */
export function outboxShardTable(table: string, dialect: SqlDialect): readonly string[] {
  const name = outboxTables(table, dialect).shard.quoted
  switch (dialect) {
    case 'postgres':
      return [
        `CREATE TABLE IF NOT EXISTS ${name} (
  shard smallint PRIMARY KEY,
  owner varchar(128),
  version bigint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50)`,
      ]
    case 'mysql':
      return [
        `CREATE TABLE IF NOT EXISTS ${name} (
  shard smallint NOT NULL PRIMARY KEY,
  owner char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 0,
  expires_at datetime(6) NOT NULL DEFAULT '1970-01-02'
) ENGINE = InnoDB`,
      ]
    case 'sqlite':
      return [
        `CREATE TABLE IF NOT EXISTS ${name} (
  shard INTEGER PRIMARY KEY,
  owner TEXT,
  version INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0
)`,
      ]
  }
}
