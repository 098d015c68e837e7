import type { SqlDialect } from '../../database/sql-database.ts'
import { parseTableName, type TableName } from '../../dialect/table-name.ts'
import { type RowIndexes, rowIndexes } from './row-index.ts'

/** The table an outbox has unless it is given another (S1-021). */
export const defaultOutboxTable = 'outbox_event'

/** The tables of one outbox. */
export interface OutboxTables {
  readonly event: TableName
  readonly indexes: RowIndexes
  /** Who holds which shard. */
  readonly shard: TableName
}

/** The tables and indexes that belong to an outbox of this name. */
export function outboxTables(name: string, dialect: SqlDialect): OutboxTables {
  const event = parseTableName(name, dialect)
  return { event, indexes: rowIndexes(event, dialect), shard: event.beside('_shard') }
}
