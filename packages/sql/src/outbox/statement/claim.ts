import type { LeaseToken, PendingQuery, RowLease } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import { eventColumns, rowBytes } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { measuredColumns } from './measured-rows.ts'
import { pendingRows } from './pending-rows.ts'

/**
 * Returns the condition of claimable rows: unlocked, with an expired lock, or locked by this very call before its
 * response was lost, so that it can be repeated. The holder's timeout decides the expiry, not the claimer's.
 */
function isClaimable({ grammar }: StoreContext, lease: RowLease, bindings: Bindings): string {
  return grammar.likely(`locked_until IS NULL OR locked_until < ${grammar.now} OR ${isHeldBy(lease, bindings)}`)
}

/**
 * Matches one token for all rows of a claim. Versions per row would need a join, and stale statistics then make the
 * planner scan.
 */
export function isHeldBy({ owner, version }: LeaseToken, bindings: Bindings): string {
  return `(locked_by = ${bindings.bind(owner)} AND lease_version = ${bindings.bind(Number(version))})`
}

function lock({ grammar }: StoreContext, { owner, version, timeoutMs }: RowLease, bindings: Bindings): string {
  return (
    `locked_by = ${bindings.bind(owner)}, locked_at = ${grammar.now}, ` +
    `lease_version = ${bindings.bind(Number(version))}, locked_until = ${grammar.fromNow(timeoutMs, bindings)}`
  )
}

/**
 * Claims and returns rows in one statement.
 *
 * PostgreSQL: `= ANY(ARRAY(…))` runs the inner query once, while `IN (…)` lets the planner run it again for every row,
 * taking more than the limit. No index has a lock column, so a claim rewrites the row within its page and touches no
 * index (HOT); the table's fillfactor keeps room for that. SQLite has one writer at a time and needs no row locks.
 *
 * The window sums up the sizes of the rows in their order and ends with the one that reaches the limit of bytes, so that
 * no row is claimed that is not returned.
 */
export function claimReturning(context: StoreContext, lease: RowLease, query: PendingQuery): Render {
  const { grammar, tables } = context
  const rows = pendingRows(context, query, () => `seq, available_at, ${rowBytes(grammar)} AS bytes`)
  const isPostgres = grammar.dialect === 'postgres'
  return (bindings) => {
    const update = `UPDATE ${tables.event.quoted} SET ${lock(context, lease, bindings)}`
    const skip = isPostgres ? ' FOR UPDATE SKIP LOCKED' : ''
    const claimable = `${rows.from(bindings)} WHERE ${rows.where(bindings)} AND (${isClaimable(context, lease, bindings)}) ${rows.order(bindings)}${skip}`
    const before = `sum(bytes) OVER (ORDER BY ${rows.orderColumns} ROWS UNBOUNDED PRECEDING) - bytes AS before`
    const fitting =
      `SELECT seq FROM (SELECT seq, ${before} FROM (${claimable}) AS claimable) AS measured ` +
      `WHERE before < ${bindings.bind(query.maxBytes)}`
    return `${update} WHERE seq ${isPostgres ? `= ANY(ARRAY(${fitting}))` : `IN (${fitting})`} RETURNING ${eventColumns(grammar)}`
  }
}

/**
 * Selects and locks claimable rows: the first of two statements of a claim on MySQL, which cannot update and return in
 * one. `UPDATE … ORDER BY … LIMIT` has no SKIP LOCKED, so claimers would wait for each other and deadlock by the
 * hundred.
 */
export function selectClaimable(
  context: StoreContext,
  lease: RowLease,
  query: PendingQuery,
  inlineBytes: number,
): Render {
  const rows = pendingRows(context, query, measuredColumns(context.grammar, inlineBytes).inner)
  return (bindings) =>
    `${rows.from(bindings)} WHERE ${rows.where(bindings)} AND (${isClaimable(context, lease, bindings)}) ${rows.order(bindings)} FOR UPDATE SKIP LOCKED`
}

/** Claims the selected rows: the second statement. They are locked, so their numbers suffice as condition. */
export function lockRows(context: StoreContext, lease: RowLease, seqs: readonly bigint[]): Render {
  return (bindings) =>
    `UPDATE ${context.tables.event.quoted} SET ${lock(context, lease, bindings)} WHERE ${context.grammar.isOneOf('seq', seqs, bindings)}`
}
