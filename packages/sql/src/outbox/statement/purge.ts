import { type PurgeRequest, rowStatusCode } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/**
 * Deletes the oldest rows past their retention, bounded, so that neither locks nor scans grow with the table.
 *
 * Settled rows are deleted by their end: a partial index of DONE rows by done_at finds them, and dead rows are few.
 * Rows of any status are deleted by age in ascending sequence: created_at is the database's clock, so it rises with the
 * sequence, and no older row follows one that is too young.
 */
export function purgeReturning(context: StoreContext, purge: PurgeRequest): Render {
  const { grammar, tables } = context
  return (bindings) => {
    const old = oldRows(context, purge, bindings)
    const among = grammar.dialect === 'postgres' ? `= ANY(ARRAY(${old}))` : `IN (${old})`
    return `DELETE FROM ${tables.event.quoted} WHERE seq ${among}`
  }
}

/** Selects the oldest rows past their retention. */
export function oldRows({ grammar, tables }: StoreContext, purge: PurgeRequest, bindings: Bindings): string {
  const table = tables.event.quoted
  // Concurrent purges skip each other's rows instead of waiting.
  const skip = grammar.dialect === 'postgres' ? ' FOR UPDATE SKIP LOCKED' : ''
  if (purge.kind === 'AGE') {
    const oldest = `SELECT seq, created_at FROM ${table} ORDER BY seq LIMIT ${bindings.bind(purge.limit)}${skip}`
    return `SELECT seq FROM (${oldest}) AS oldest WHERE created_at < ${grammar.fromNow(-purge.olderThanMs, bindings)}`
  }
  const { holds, columns } = purge.status === 'DONE' ? tables.indexes.done : tables.indexes.dead
  const isOld = `${holds} AND done_at < ${grammar.fromNow(-purge.olderThanMs, bindings)}`
  const order = columns.join(', ')
  return `SELECT seq FROM ${table} WHERE ${isOld} ORDER BY ${order} LIMIT ${bindings.bind(purge.limit)}${skip}`
}

/** The number of rows MySQL examines per deleted row. */
const examinedPerRow = 4

/**
 * Selects the rows to purge on MySQL, whose index of settled rows is ordered by sequence: another one by done_at would
 * make every settlement a third more expensive. So it examines only the oldest rows, a few times `limit`. Rows that
 * ended late hide older ones for at most their own retention, and a query without a match costs as little as one with.
 */
export function selectOld({ grammar, tables }: StoreContext, purge: PurgeRequest): Render {
  return (bindings) => {
    const isAge = purge.kind === 'AGE'
    const time = isAge ? 'created_at' : 'done_at'
    const oldest = isAge
      ? `FROM ${tables.event.quoted} ORDER BY seq LIMIT ${bindings.bind(purge.limit)}`
      : `FROM ${tables.event.quoted}${grammar.indexHint(tables.indexes.done.name)} WHERE status = ${rowStatusCode[purge.status]} ` +
        `ORDER BY seq LIMIT ${bindings.bind(purge.limit * examinedPerRow)}`
    return (
      `SELECT seq FROM (SELECT seq, ${time} AS ended ${oldest}) AS oldest ` +
      `WHERE ended < ${grammar.fromNow(-purge.olderThanMs, bindings)} ORDER BY seq LIMIT ${bindings.bind(purge.limit)}`
    )
  }
}

/** Deletes rows that {@link selectOld} found, unless they were replayed since. */
export function deleteOld(context: StoreContext, purge: PurgeRequest, seqs: readonly bigint[]): Render {
  return (bindings) => `DELETE FROM ${context.tables.event.quoted} WHERE ${isStillOld(context, purge, seqs, bindings)}`
}

/** Locks rows that {@link selectOld} found and that are still settled, and selects their numbers. */
export function lockOld(context: StoreContext, purge: PurgeRequest, seqs: readonly bigint[]): Render {
  return (bindings) => {
    const isOld = isStillOld(context, purge, seqs, bindings)
    return `SELECT seq FROM ${context.tables.event.quoted} WHERE ${isOld} FOR UPDATE SKIP LOCKED`
  }
}

function isStillOld(
  { grammar }: StoreContext,
  purge: PurgeRequest,
  seqs: readonly bigint[],
  bindings: Bindings,
): string {
  const isStill = purge.kind === 'AGE' ? '' : ` AND status = ${rowStatusCode[purge.status]}`
  return `${grammar.isOneOf('seq', seqs, bindings)}${isStill}`
}
