import type { EventEnvelope } from '@waybill/core'
import type { LeaseFence, RowRef } from '../api/outbox-store.ts'
import { HeldRow, type Hold, type RowSource } from '../claim/held-row.ts'

/** A row that a poller read, or a transaction inserted, with the right to settle it. */
export interface OutboxRow extends RowRef {
  readonly event: EventEnvelope
  /** Failed attempts so far. */
  readonly attempts: number
  /** The condition of its settlement, for the store. */
  readonly fence: LeaseFence
  /** Aborts when another node may take the row. */
  readonly signal: AbortSignal
  /** Ends the work on the row here, after it was settled or to give it up. Until then its claim is renewed. */
  release(): void
}

/** The end of the work on a row: its outcome is stored, another node has it, or it stays in the table. */
export type RowEnd =
  | { readonly kind: 'SETTLED'; readonly retryInMs: number | null }
  | { readonly kind: 'FENCED' | 'GIVEN_UP' }

/** The origin of a row: the work on it, and the code to notify of its end. */
export interface RowOrigin {
  readonly held: HeldRow
  /** Whether a listener may be started at this monotonic time, whatever the row's lease says. */
  readonly mayStart: (nowMs: number) => boolean
  /** Called once. Resolves when nothing of the row is left to do. */
  readonly ended: (end: RowEnd) => Promise<void>
}

const origins = new WeakMap<OutboxRow, RowOrigin>()

/** Creates the public view of a row. */
export function outboxRowOf(origin: RowOrigin): OutboxRow {
  const { held } = origin
  let over: Promise<void> | undefined
  const ended = (end: RowEnd): Promise<void> => (over ??= origin.ended(end))
  const { seq, event, eventId, attempts, hold } = held
  const row: OutboxRow = {
    seq,
    event,
    eventId,
    attempts,
    fence: hold.fence,
    get signal() {
      return held.signal
    },
    release: () => void ended({ kind: 'GIVEN_UP' }),
  }
  origins.set(row, { ...origin, ended })
  return row
}

/** The hold on rows without a claim, in a table that only this node reads. */
const unclaimed: Hold = Object.freeze<Hold>({ fence: { kind: 'NONE' }, mayStart: () => true })

/** A row to enqueue: one of a poller, or the number and the event of an inserted one. */
export type EnqueuedRow = OutboxRow | (Pick<OutboxRow, 'seq' | 'event'> & { readonly attempts?: number | undefined })

/** Returns the origin of a row to enqueue. */
export function heldRowOf(row: EnqueuedRow, source: RowSource): RowOrigin {
  const origin = origins.get(row as OutboxRow)
  if (origin !== undefined) return origin
  const held = new HeldRow(row.seq, row.event, row.attempts ?? 0, source, unclaimed)
  return { held, mayStart: () => true, ended: async () => {} }
}
