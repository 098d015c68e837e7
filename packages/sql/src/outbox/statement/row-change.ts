import {
  type DeadRow,
  type FailedRow,
  type LeaseFence,
  type LeaseToken,
  type RowLease,
  type RowRef,
  rowStatusCode,
  storableError,
  type WhenDone,
} from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import type { Grammar } from '../../dialect/grammar.ts'
import type { StoreContext } from '../row/store-context.ts'

/** A change of rows that are pending and held; which rows changed is the answer. */
export interface RowChange {
  readonly seqs: readonly bigint[]
  /** The ids of the rows' events: a row of another event does not change. Null: the rows are locked, and were found by both. */
  readonly eventIds: readonly string[] | null
  readonly fence: LeaseFence
  /** `UPDATE … SET …` or `DELETE FROM …`: everything before WHERE. */
  readonly action: (bindings: Bindings) => string
}

/** DONE, kept or deleted at once. */
export function doneChange(
  context: StoreContext,
  rows: readonly RowRef[],
  fence: LeaseFence,
  whenDone: WhenDone,
): RowChange {
  const { grammar, tables } = context
  const keep = `UPDATE ${tables.event.quoted} SET status = ${rowStatusCode.DONE}, done_at = ${grammar.now}, ${unlock(grammar)}`
  return { ...named(rows), fence, action: () => (whenDone === 'KEEP' ? keep : `DELETE FROM ${tables.event.quoted}`) }
}

/** A lock made young again. */
export function renewChange({ grammar, tables }: StoreContext, rows: readonly RowRef[], lease: RowLease): RowChange {
  return {
    ...named(rows),
    fence: { kind: 'LEASE', ...lease },
    action: (bindings) =>
      `UPDATE ${tables.event.quoted} SET locked_until = ${grammar.fromNow(lease.timeoutMs, bindings)}`,
  }
}

/** A lock given up. */
export function releaseChange(
  { grammar, tables }: StoreContext,
  rows: readonly RowRef[],
  lease: LeaseToken,
): RowChange {
  return {
    ...named(rows),
    fence: { kind: 'LEASE', ...lease },
    action: () => `UPDATE ${tables.event.quoted} SET ${unlock(grammar)}`,
  }
}

/** RETRY: each row has a delay, a number of attempts and an error of its own. */
export function retryChange(context: StoreContext, rows: readonly FailedRow[], fence: LeaseFence): RowChange {
  const { grammar } = context
  const attempts = rows.map((row) => row.attempts)
  const delays = rows.map(({ delayMs }) => delayMs)
  return failureChange(context, rows, fence, 'RETRY', (seqs, bindings) => {
    // A RETRY row may become RETRY again: setting the number, not adding to it, is what a repeated call survives.
    const count = `attempts = ${grammar.integerEach('seq', seqs, attempts, bindings)}`
    return `${count}, available_at = ${grammar.fromNowEach('seq', seqs, delays, bindings)}`
  })
}

/** DEAD, with one attempt more (C-37): a repeated call finds the row no longer pending. */
export function deadChange(context: StoreContext, rows: readonly DeadRow[], fence: LeaseFence): RowChange {
  return failureChange(context, rows, fence, 'DEAD', () => `attempts = attempts + 1, done_at = ${context.grammar.now}`)
}

function failureChange(
  { grammar, tables }: StoreContext,
  rows: readonly DeadRow[],
  fence: LeaseFence,
  status: 'RETRY' | 'DEAD',
  becomes: (seqs: readonly bigint[], bindings: Bindings) => string,
): RowChange {
  const { seqs, eventIds } = named(rows)
  const errors = rows.map(({ error }) => storableError(error))
  return {
    seqs,
    eventIds,
    fence,
    action: (bindings) => {
      const start = `UPDATE ${tables.event.quoted} SET status = ${rowStatusCode[status]}, ${becomes(seqs, bindings)}`
      return `${start}, last_error = ${grammar.textEach('seq', seqs, errors, bindings)}, ${unlock(grammar)}`
    },
  }
}

function named(rows: readonly RowRef[]): Pick<RowChange, 'seqs' | 'eventIds'> {
  return { seqs: rows.map(({ seq }) => seq), eventIds: rows.map(({ eventId }) => eventId) }
}

/**
 * Which rows a change is about. Their numbers lead to them. The ids are looked at in what was found, and in one text with the
 * numbers: an index on ids must not tempt a planner, and each id counts for its own number alone.
 */
export function isNamed({ grammar }: StoreContext, { seqs, eventIds }: RowChange, bindings: Bindings): string {
  const isNumbered = grammar.isOneOf('seq', seqs, bindings)
  if (eventIds === null) return isNumbered
  const names = seqs.map((seq, at) => `${seq} ${eventIds[at]}`)
  return `${isNumbered} AND ${grammar.isOneOfTexts(grammar.joined(['seq', 'event_id']), names, bindings)}`
}

export function unlock({ none }: Grammar): string {
  return `locked_by = ${none.text}, locked_at = ${none.instant}, locked_until = ${none.instant}`
}
