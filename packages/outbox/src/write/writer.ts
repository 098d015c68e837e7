/**
 * Writes events in the caller's transaction, one statement a call.
 *
 *   beforeWrite ─▶ places reserved in the hot queue ─▶ INSERT ─▶ afterWrite ─▶ … the caller's own work …
 *        COMMIT confirmed ─▶ rows take their places (looked for first, where a savepoint may have undone them) ─▶ afterCommit
 *        rolled back, or nobody knows ─▶ places given back ─▶ afterRollback
 *
 * A transaction whose end nobody sees gets no places: its rows wait for the poller, as atomic as the others.
 */

import { type EventEnvelope, NoTransactionError, type Runtime, type TxContext } from '@waybill/core'
import { type EnvelopeSources, type EventType, envelopeOfJson, type UncommittedEnd } from '@waybill/core/internal'
import type { InsertedRows, OutboxStore } from '../api/outbox-store.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { heldWrite } from './held-write.ts'
import type { HotPath, HotReservation } from './hot-path.ts'
import { requireEnvelopes, requireList } from './written-events.ts'

/** Writes in the transaction that the current asynchronous flow runs in (S1-040…050). */
export interface OutboxWriter {
  /** @returns the event's id; null when the hook suppressed it */
  write(event: EventEnvelope): Promise<string | null>
  /** Shorthand for an event that is nothing but a type and its JSON text. */
  write(eventType: string | EventType, payloadJson: string): Promise<string | null>
  /** All in one statement. @returns their ids; none when the hook suppressed them */
  writeAll(events: readonly EventEnvelope[]): Promise<string[]>
}

/** Observes transaction outcomes. */
export interface TransactionObserver {
  /** Rows are inserted by a transaction that is still open, and whose end will be told. */
  opened(events: readonly EventEnvelope[]): void
  committed(events: readonly EventEnvelope[], rows: InsertedRows, availableAt: number | null): void
  /** Not known to be committed. */
  notCommitted(events: readonly EventEnvelope[], end: UncommittedEnd): void
}

export interface RowWriterDeps {
  readonly store: Pick<OutboxStore, 'insertNew'>
  /** Undefined: rows are delivered by whoever polls, or read by something else. */
  readonly hotPath?: HotPath | undefined
  readonly hook?: WriterHook | undefined
  /** Throws for an event that nobody could carry on. */
  readonly check?: ((event: EventEnvelope) => void) | undefined
  /** Undefined: nobody asks how transactions end, and nothing is registered with them (S1-047). */
  readonly observer?: TransactionObserver | undefined
  readonly telemetry: Pick<OutboxTelemetry, 'hotDropped'>
  readonly runtime: Pick<Runtime, 'logger' | 'failpoint'>
}

/** Writes rows in a given transaction. @returns the ids of what was written */
export type WriteRows = (
  tx: TxContext,
  events: readonly EventEnvelope[],
  availableAt?: number | null,
) => Promise<string[]>

export function createRowWriter(deps: RowWriterDeps): WriteRows {
  const { store, hotPath, hook, check, observer, telemetry, runtime } = deps
  const needsEnd = hotPath !== undefined || hook !== undefined || observer !== undefined

  /** What a hook throws after the insert changes nothing about the row (S1-046). */
  const swallow = (step: string, err: unknown): void =>
    runtime.logger.error({ err, step }, 'A writer hook failed; the write is not affected')

  const runHook = (step: 'afterCommit' | 'afterRollback', events: readonly EventEnvelope[]): void => {
    try {
      hook?.[step]?.(events)
    } catch (err) {
      swallow(step, err)
    }
  }

  /** One registration of each kind per call (S1-045). */
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
      runHook('afterCommit', events)
    })
    tx.afterRollback((end) => {
      observer?.notCommitted(events, end)
      if (typeof reservation !== 'string') reservation.cancel(end === 'UNKNOWN' ? rows.seqs : [])
      runHook('afterRollback', events)
    })
    observer?.opened(events)
  }

  return async (tx, given, availableAt = null) => {
    requireStillActive(tx)
    // A copy of each: whoever gave the array may fill it anew before the transaction ends, and its end is told with it.
    const wanted = hook?.beforeWrite === undefined ? given : await hook.beforeWrite([...given])
    if (wanted === null) return []
    requireList(wanted, 'beforeWrite answers a list of events or null')
    if (wanted.length === 0) return []
    requireEnvelopes(wanted)
    const events: readonly EventEnvelope[] = Object.freeze([...wanted])
    if (check !== undefined) for (const event of events) check(event)
    requireStillActive(tx) // The hook may have taken its time.
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
      swallow('afterWrite', err)
    }
    return events.map(({ eventId }) => eventId)
  }
}

/** It was active when the write began: mostly nobody waits for the write. */
function requireStillActive(tx: TxContext): void {
  if (tx.isTransactionActive()) return
  throw NoTransactionError.notAwaited(
    'No active transaction any more: it has ended, or is being ended, while this write was under way. The write was not awaited',
  )
}

function requireActive(tx: TxContext): void {
  if (!tx.isTransactionActive()) throw new NoTransactionError()
}

/** The writer on the ambient transaction. */
export function createOutboxWriter(ambient: TxContext, writeRows: WriteRows, sources: EnvelopeSources): OutboxWriter {
  /** Writes what `make` answers. */
  const writing = <T>(make: () => readonly EventEnvelope[], answer: (ids: string[]) => T): Promise<T> =>
    heldWrite(() => {
      const events = make()
      requireActive(ambient)
      requireList(events, 'writeAll takes a list of events')
      return {
        tx: ambient,
        // What is no event is refused, but a hook may come first.
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
