import {
  type DeadRow,
  errorWithType,
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

/** A change of pending, held rows; its result is the rows that changed. */
export interface RowChange {
  readonly seqs: readonly bigint[]
  /**
   * The ids of the rows' events: a row of another event does not change. Null: the rows are locked and were matched by
   * both.
   */
  readonly eventIds: readonly string[] | null
  readonly fence: LeaseFence
  /** `UPDATE … SET …` or `DELETE FROM …`: everything before WHERE. */
  readonly action: (bindings: Bindings) => string
}

/** Returns the change to DONE: kept or deleted at once. */
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

/** Returns the renewal of locks. */
export function renewChange({ grammar, tables }: StoreContext, rows: readonly RowRef[], lease: RowLease): RowChange {
  return {
    ...named(rows),
    fence: { kind: 'LEASE', ...lease },
    action: (bindings) =>
      `UPDATE ${tables.event.quoted} SET locked_until = ${grammar.fromNow(lease.timeoutMs, bindings)}`,
  }
}

/** Returns the release of locks. */
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

/** Returns the change to RETRY: each row has its own delay, attempts and error. */
export function retryChange(context: StoreContext, rows: readonly FailedRow[], fence: LeaseFence): RowChange {
  const { grammar } = context
  const attempts = rows.map((row) => row.attempts)
  const delays = rows.map(({ delayMs }) => delayMs)
  return failureChange(context, rows, fence, 'RETRY', (seqs, bindings) => {
    // A RETRY row may become RETRY again: setting the number instead of adding to it makes the call repeatable.
    const count = `attempts = ${grammar.integerEach('seq', seqs, attempts, bindings)}`
    return `${count}, available_at = ${grammar.fromNowEach('seq', seqs, delays, bindings)}`
  })
}

/** Returns the change to DEAD, with one more attempt. A repeated call finds the row no longer pending. */
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
  const errors = rows.map(({ error, failureType }) => storableError(errorWithType(error, failureType)))
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
 * Returns the condition of a change's rows. The primary key finds them; the ids are only a filter, joined with the
 * numbers into one text. So an index on ids does not tempt the planner, and each id counts for its own number alone.
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
