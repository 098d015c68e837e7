import type { SqlDialect } from '../../database/sql-database.ts'
import { parseTableName, type TableName } from '../../dialect/table-name.ts'
import { type RowIndexes, rowIndexes } from './row-index.ts'

/** The default table of an outbox. */
export const defaultOutboxTable = 'outbox_event'

/** The tables of one outbox. */
export interface OutboxTables {
  readonly event: TableName
  readonly indexes: RowIndexes
  /** The table of leases. */
  readonly shard: TableName
  /** The table of archived rows. */
  readonly history: TableName
}

/** Returns the tables and indexes of an outbox with this name. */
export function outboxTables(name: string, dialect: SqlDialect): OutboxTables {
  const event = parseTableName(name, dialect)
  return {
    event,
    indexes: rowIndexes(event, dialect),
    shard: event.beside('_shard'),
    history: event.beside('_history'),
  }
}
