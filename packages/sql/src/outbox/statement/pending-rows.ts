import { type PendingQuery, rowStatusCode } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import { pendingStatus, type RowIndex } from '../row/row-index.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { aroundPage, measuredColumns } from './measured-rows.ts'

const isNew = `status = ${rowStatusCode.NEW}`

/** Parts of a SELECT that a claim extends. Bind in this order. */
interface PendingRows {
  from(bindings: Bindings): string
  where(bindings: Bindings): string
  readonly orderColumns: string
  order(bindings: Bindings): string
}

/**
 * Returns the SELECT of due pending rows, in the order of the index that finds them: NEW rows by sequence, RETRY rows
 * by due time. Unused conditions are left out of the text: even `seq > -1` would be a condition that affects the plan.
 */
export function pendingRows(
  context: StoreContext,
  query: PendingQuery,
  columns: (bindings: Bindings) => string,
): PendingRows {
  const { grammar, tables } = context
  const { index, conditions, order } = query.status === 'NEW' ? newRows(context, query) : dueRows(context, query)
  return {
    from: (bindings) => `SELECT ${columns(bindings)} FROM ${tables.event.quoted}${grammar.indexHint(index.name)}`,
    where(bindings) {
      const all = [index.holds, ...conditions(bindings)]
      if (query.skipRecentMs > 0)
        all.push(grammar.likely(`created_at <= ${grammar.fromNow(-query.skipRecentMs, bindings)}`))
      return all.join(' AND ')
    },
    orderColumns: order,
    order: (bindings) => `ORDER BY ${order} ${grammar.limitInOrder(query.limit, bindings)}`,
  }
}

/** An access path: the index, its conditions besides those of its rows, and its order. */
interface AccessPath {
  readonly index: RowIndex
  readonly conditions: (bindings: Bindings) => readonly string[]
  readonly order: string
}

/**
 * Selects NEW rows. One shard is found by the index of shards; several by scanning the index of all rows and filtering,
 * because no database merges many shards into one order without reading all of their rows.
 */
function newRows({ grammar, tables }: StoreContext, { shards, floor }: PendingQuery): AccessPath {
  const { new: all, pending } = tables.indexes
  const single = shards?.length === 1 ? shards[0] : undefined
  return {
    index: single === undefined ? all : pending,
    conditions: (bindings) => {
      const conditions: string[] = []
      if (single !== undefined)
        conditions.push(grammar.likely(isNew), `${pending.columns[0]} = ${bindings.bind(single)}`)
      else if (shards !== null) conditions.push(grammar.likely(grammar.isOneOf('shard', shards, bindings)))
      if (floor !== null) conditions.push(`seq > ${bindings.bind(Number(floor))}`)
      conditions.push(grammar.likely(`available_at <= ${grammar.now}`))
      return conditions
    },
    order: 'seq',
  }
}

function dueRows({ grammar, tables }: StoreContext, { shards }: PendingQuery): AccessPath {
  const { due } = tables.indexes
  return {
    index: due,
    conditions: (bindings) => {
      const isDue = `${due.columns[0]} <= ${grammar.now}`
      return shards === null ? [isDue] : [isDue, grammar.likely(grammar.isOneOf('shard', shards, bindings))]
    },
    order: due.columns.join(', '),
  }
}

/** Returns {@link pendingRows} as a complete statement: see measured-rows.ts. */
export function pollPending(context: StoreContext, query: PendingQuery, inlineBytes: number): Render {
  const columns = measuredColumns(context.grammar, inlineBytes)
  const rows = pendingRows(context, query, columns.inner)
  return (bindings) =>
    aroundPage(columns, `${rows.from(bindings)} WHERE ${rows.where(bindings)} ${rows.order(bindings)}`, bindings)
}

/** Selects pending rows by primary key. */
export function findPending({ grammar, tables }: StoreContext, seqs: readonly bigint[]): Render {
  return (bindings) =>
    `SELECT seq, event_id FROM ${tables.event.quoted} WHERE ${grammar.isOneOf('seq', seqs, bindings)} AND ${pendingStatus}`
}
