/**
 * Writes events in the caller's transaction, one statement per call.
 *
 *   beforeWrite ─▶ places reserved in the hot queue ─▶ INSERT ─▶ afterWrite ─▶ … the caller's own work …
 *        COMMIT confirmed ─▶ rows take their places (after a query, if a savepoint may have undone them) ─▶ afterCommit
 *        rolled back, or outcome unknown ─▶ places released ─▶ afterRollback
 *
 * A transaction whose outcome Waybill cannot observe gets no places: the poller publishes its events.
 */

import { type EventEnvelope, NoTransactionError, type Runtime, type TxContext } from '@waybill/core'
import { type EnvelopeSources, type EventType, envelopeOfJson, type UncommittedEnd } from '@waybill/core/internal'
import type { InsertedRows, OutboxStore } from '../api/outbox-store.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { CreationSpans } from './creation-spans.ts'
import { heldWrite } from './held-write.ts'
import type { HotPath, HotReservation } from './hot-path.ts'
import { requireEnvelopes, requireList } from './written-events.ts'

/** Writes events in the transaction of the current asynchronous context. */
export interface OutboxWriter {
  /** Writes one event. @returns its id; null if the hook suppressed it */
  write(event: EventEnvelope): Promise<string | null>
  /** Writes an event given as a type and its JSON payload. */
  write(eventType: string | EventType, payloadJson: string): Promise<string | null>
  /** Writes all events in one statement. @returns their ids; empty if the hook suppressed them */
  writeAll(events: readonly EventEnvelope[]): Promise<string[]>
}

/** Observes transaction outcomes. */
export interface TransactionObserver {
  /** Rows were inserted by a transaction that is still open and whose outcome will be reported. */
  opened(events: readonly EventEnvelope[]): void
  committed(events: readonly EventEnvelope[], rows: InsertedRows, availableAt: number | null): void
  /** The transaction was rolled back, or its outcome is unknown. */
  notCommitted(events: readonly EventEnvelope[], end: UncommittedEnd): void
}

export interface RowWriterDeps {
  readonly store: Pick<OutboxStore, 'insertNew'>
  /** Undefined: the rows are left to a poller or another reader of the table. */
  readonly hotPath?: HotPath | undefined
  readonly hook?: WriterHook | undefined
  /** Throws for an event that could not be delivered. */
  readonly check?: ((event: EventEnvelope) => void) | undefined
  /** Undefined: outcomes are not observed, and nothing is registered with transactions. */
  readonly observer?: TransactionObserver | undefined
  readonly telemetry: Pick<OutboxTelemetry, 'hotDropped'>
  /** The prefix of the outbox, for spans. */
  readonly name: string
  readonly runtime: Pick<Runtime, 'logger' | 'failpoint' | 'tracer'>
}

/** Writes rows in a given transaction. @returns the ids of the written events */
export type WriteRows = (
  tx: TxContext,
  events: readonly EventEnvelope[],
  availableAt?: number | null,
) => Promise<string[]>

export function createRowWriter(deps: RowWriterDeps): WriteRows {
  const { store, hotPath, hook, check, observer, telemetry, name, runtime } = deps
  const { tracer } = runtime
  const needsEnd = hotPath !== undefined || hook !== undefined || observer !== undefined

  /** Logs an error of a hook that ran after the insert; the row is not affected. */
  const logHookFailure = (step: string, err: unknown): void => runtime.logger.error({ err, step }, 'Writer hook failed')

  const runHook = (step: 'afterCommit' | 'afterRollback', call: () => void): void => {
    try {
      call()
    } catch (err) {
      logHookFailure(step, err)
    }
  }

  /** Registers one callback of each kind per call. */
  const observeOutcome = (
    tx: TxContext,
    events: readonly EventEnvelope[],
    rows: InsertedRows,
    reservation: HotReservation | 'FULL' | 'CLOSED',
    availableAt: number | null,
  ): void => {
    tx.afterCommit(() => {
      observer?.committed(events, rows, availableAt)
      if (reservation === 'FULL') telemetry.hotDropped(events.length)
      else if (reservation !== 'CLOSED') reservation.commit(rows)
      runHook('afterCommit', () => hook?.afterCommit?.(events, rows))
    })
    tx.afterRollback((end) => {
      observer?.notCommitted(events, end)
      if (typeof reservation !== 'string') reservation.cancel(end === 'UNKNOWN' ? rows.seqs : [])
      runHook('afterRollback', () => hook?.afterRollback?.(events))
    })
    observer?.opened(events)
  }

  const insert = async (
    tx: TxContext,
    wanted: readonly EventEnvelope[],
    availableAt: number | null,
  ): Promise<string[]> => {
    const events: readonly EventEnvelope[] = Object.freeze([...wanted])
    if (check !== undefined) for (const event of events) check(event)
    requireStillActive(tx) // The transaction may have ended during the hook.
    const isHot = hotPath !== undefined && tx.endIsSeen && availableAt === null
    const reservation = isHot ? hotPath.reserve(events) : 'CLOSED'
    const lease = typeof reservation === 'string' ? null : reservation.lease
    try {
      await runtime.failpoint('outbox.insert.before')
      const rows = await store.insertNew(tx.currentConnection(), events, { lease, availableAt })
      if (needsEnd && tx.endIsSeen) observeOutcome(tx, events, rows, reservation, availableAt)
    } catch (error) {
      if (typeof reservation !== 'string') reservation.cancel([])
      throw error
    }
    await runtime.failpoint('outbox.insert.after')
    try {
      await hook?.afterWrite?.(events)
    } catch (err) {
      logHookFailure('afterWrite', err)
    }
    return events.map(({ eventId }) => eventId)
  }

  return async (tx, given, availableAt = null) => {
    requireStillActive(tx)
    // Pass a copy: the caller may reuse the array before the transaction ends, and the outcome is reported with these
    // events.
    const wanted = hook?.beforeWrite === undefined ? given : await hook.beforeWrite([...given])
    if (wanted === null) return []
    requireList(wanted, 'beforeWrite must return a list of events or null')
    if (wanted.length === 0) return []
    requireEnvelopes(wanted)
    const spans = tracer === undefined ? undefined : new CreationSpans(tracer, wanted, name)
    try {
      const ids = await insert(tx, spans?.events ?? wanted, availableAt)
      spans?.end()
      return ids
    } catch (error) {
      spans?.end(error)
      throw error
    }
  }
}

/** Throws if the transaction ended since the write began, which mostly means that the write was not awaited. */
function requireStillActive(tx: TxContext): void {
  if (tx.isTransactionActive()) return
  throw NoTransactionError.notAwaited(
    'The transaction ended, or is ending, while this write was in progress: the write was not awaited',
  )
}

function requireActive(tx: TxContext): void {
  if (!tx.isTransactionActive()) throw new NoTransactionError()
}

/** Creates the writer on the ambient transaction. */
export function createAmbientWriter(ambient: TxContext, writeRows: WriteRows, sources: EnvelopeSources): OutboxWriter {
  /** Writes the events that `make` returns. */
  const writing = <T>(make: () => readonly EventEnvelope[], answer: (ids: string[]) => T): Promise<T> =>
    heldWrite(() => {
      const events = make()
      requireActive(ambient)
      requireList(events, 'writeAll expects a list of events')
      return {
        tx: ambient,
        // Invalid events are rejected later, since a hook may run first.
        eventTypes: () => events.map((event: EventEnvelope | null | undefined) => String(event?.eventType)),
        work: async () => answer(events.length === 0 ? [] : await writeRows(ambient, events)),
      }
    })
  return Object.freeze<OutboxWriter>({
    write: (event: EventEnvelope | string | EventType, payloadJson?: string) =>
      writing(
        () => [isEnvelope(event) ? event : envelopeOfJson(event, payloadJson as string, sources)],
        ([id]) => id ?? null,
      ),
    writeAll: (events) =>
      writing(
        () => events,
        (ids) => ids,
      ),
  })
}

function isEnvelope(value: EventEnvelope | string | EventType): value is EventEnvelope {
  return typeof value === 'object' && value !== null && 'eventId' in value
}
