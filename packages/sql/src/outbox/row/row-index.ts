import { rowStatusCode } from '@waybill/outbox/internal'
import type { SqlDialect } from '../../database/sql-database.ts'
import { believed } from '../../dialect/postgres-planner.ts'
import type { TableName } from '../../dialect/table-name.ts'

/** An index of the event table. */
export interface RowIndex {
  /** The quoted name. */
  readonly name: string
  /** The condition of its rows. */
  readonly holds: string
  /** The columns it is ordered by. */
  readonly columns: readonly string[]
}

/** The indexes that find rows. */
export interface RowIndexes {
  /** NEW rows by sequence. */
  readonly new: RowIndex
  /** RETRY rows by the time they are due. */
  readonly due: RowIndex
  /** Pending rows of each shard by sequence. */
  readonly pending: RowIndex
  /** DONE rows by completion time; on MySQL by sequence, see purge.ts. */
  readonly done: RowIndex
  /** DEAD rows by sequence. */
  readonly dead: RowIndex
}

const { NEW, DONE, RETRY, DEAD } = rowStatusCode

/** The condition of rows that are not settled, written so that it matches no partial index. */
export const pendingStatus: string = `status IN (${NEW}, ${RETRY})`

/** Returns the indexes of a table in a dialect. */
export function rowIndexes(table: TableName, dialect: SqlDialect): RowIndexes {
  switch (dialect) {
    case 'postgres':
      // The primary key could also find NEW rows, in the same order but among all others: the estimate of a third rules
      // it out.
      return partialIndexes(table, { new: 'A_THIRD', due: 'NEARLY_ALL', pending: 'NEARLY_ALL', done: 'NEARLY_ALL' })
    case 'sqlite':
      return partialIndexes(table)
    case 'mysql':
      return wholeIndexes(table)
  }
}

type Belief = Parameters<typeof believed>[1]

/**
 * Returns partial indexes: settled rows are in none that is read to find work. For PostgreSQL the conditions are
 * wrapped, so that a query matches the one index it means, and a settlement, whose conditions are plain, none of them.
 * DEAD rows are few and read as a whole, so they need no wrapping.
 */
function partialIndexes(
  table: TableName,
  beliefs: Readonly<Partial<Record<keyof RowIndexes, Belief>>> = {},
): RowIndexes {
  const index = (name: keyof RowIndexes, condition: string, ...columns: readonly string[]): RowIndex => {
    const belief = beliefs[name]
    return {
      name: table.index(`_${name}`),
      holds: belief === undefined ? condition : believed(condition, belief),
      columns,
    }
  }
  return {
    new: index('new', `status = ${NEW}`, 'seq'),
    due: index('due', `status = ${RETRY}`, 'available_at', 'seq'),
    pending: index('pending', pendingStatus, 'shard', 'seq'),
    done: index('done', `status = ${DONE}`, 'done_at'),
    dead: index('dead', `status = ${DEAD}`, 'seq'),
  }
}

/**
 * Returns full indexes, since MySQL has no partial ones. The generated columns `retry_at` and `pending_shard` are null
 * for all rows that do not belong in their index, so that settling need not touch the first; statements name the index
 * they mean.
 */
function wholeIndexes(table: TableName): RowIndexes {
  const byStatus = { name: table.index('_status'), columns: ['seq'] }
  return {
    new: { ...byStatus, holds: `status = ${NEW}` },
    due: { name: table.index('_due'), holds: `status = ${RETRY}`, columns: ['retry_at', 'seq'] },
    pending: { name: table.index('_pending'), holds: pendingStatus, columns: ['pending_shard', 'seq'] },
    done: { ...byStatus, holds: `status = ${DONE}` },
    dead: { ...byStatus, holds: `status = ${DEAD}` },
  }
}
