import { rowStatusCode } from '@waybill/outbox/internal'
import type { SqlDialect } from '../../database/sql-database.ts'
import { believed } from '../../dialect/postgres-planner.ts'
import type { TableName } from '../../dialect/table-name.ts'

/** An index of the table of events. */
export interface RowIndex {
  /** Its name, quoted. */
  readonly name: string
  /** The rows it holds, or is asked for. */
  readonly holds: string
  /** The columns it is ordered by, in front of which nothing else is compared. */
  readonly columns: readonly string[]
}

/** The indexes by which rows are found. */
export interface RowIndexes {
  /** NEW rows by sequence. */
  readonly new: RowIndex
  /** RETRY rows by the time they are due. */
  readonly due: RowIndex
  /** Pending rows of each shard by sequence. */
  readonly pending: RowIndex
  /** DONE rows by when they were done; on MySQL by sequence, see purge.ts. */
  readonly done: RowIndex
  /** DEAD rows by sequence. */
  readonly dead: RowIndex
}

const { NEW, DONE, RETRY, DEAD } = rowStatusCode

/** Status codes of rows that are not finished, where no index shall be found by it. */
export const pendingStatus: string = `status IN (${NEW}, ${RETRY})`

/** The indexes of a table in a dialect. */
export function rowIndexes(table: TableName, dialect: SqlDialect): RowIndexes {
  switch (dialect) {
    case 'postgres':
      // NEW rows are also to be had by the primary key, in the same order and among all others: a third keeps it out.
      return partialIndexes(table, { new: 'A_THIRD', due: 'NEARLY_ALL', pending: 'NEARLY_ALL', done: 'NEARLY_ALL' })
    case 'sqlite':
      return partialIndexes(table)
    case 'mysql':
      return wholeIndexes(table)
  }
}

type Belief = Parameters<typeof believed>[1]

/**
 * Partial indexes: finished rows are in none that is read to find work. For PostgreSQL the conditions are wrapped, so that a
 * statement finds the one index it means, and a finish, whose conditions are plain, none of them. DEAD rows are few, and
 * read as a whole: they need no such care.
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
 * MySQL has no partial indexes. The generated columns `retry_at` and `pending_shard` are null for all rows that do not
 * belong in theirs, so that a finish need not touch the first; statements name the index they mean.
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
