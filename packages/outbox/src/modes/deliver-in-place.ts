import { type Runtime, StateError } from '@waybill/core'
import type { HeldRow } from '../claim/held-row.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { EngineParts } from '../dispatch/delivery-engine.ts'
import type { Deliver, DeliverableRow } from '../dispatch/listener-call.ts'
import type { Delivered } from '../dispatch/row-outcome.ts'

export interface DeliverInPlaceDeps extends Pick<EngineParts, 'isModeOpen'> {
  readonly deliver: Deliver
  readonly destinations: Pick<Destinations, 'nextTryAt' | 'admit' | 'waits'>
  /** Called when a delivery begins or ends to wait for its unavailable destination. */
  readonly waiting: (isWaiting: boolean) => void
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'logger'>
}

/**
 * Repeats a delivery in its worker slot until it has an outcome, for a mode in which no row may overtake another.
 * Written to the table as a retry, the row would be overtaken by those behind it. If it is aborted or may not start, it
 * is given up and delivered first later.
 */
export function deliverInPlace({
  deliver,
  destinations,
  waiting,
  isModeOpen,
  runtime,
}: DeliverInPlaceDeps): (row: HeldRow) => Promise<Delivered> {
  const { clock, timers, logger } = runtime
  /** Returns how long to wait before the next attempt. The wait for a destination is reported once, by the destination. */
  const delayOf = (outcome: Delivered & { readonly kind: 'RETRY' | 'WAITS' }, { event }: HeldRow): number => {
    if (outcome.kind === 'WAITS') return Math.max(0, destinations.nextTryAt(event) - clock.monotonic())
    logger.info({ eventId: event.eventId, delayMs: outcome.delayMs }, 'Retry deferred by listener; later events wait')
    return outcome.delayMs
  }
  /** Returns the wait of an event that may not probe its destination yet; undefined if it may be tried now. */
  const waitOf = ({ event }: HeldRow): Delivered | undefined => {
    const destination = destinations.admit(event)
    if (destination === undefined) return undefined
    destinations.waits(destination, event.eventId)
    return { kind: 'WAITS', destination }
  }
  return async (row) => {
    let repeats = 0
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- One attempt after the other.
      const outcome = waitOf(row) ?? (await deliver(repeats === 0 ? row : repeated(row, repeats)))
      if (outcome.kind !== 'RETRY' && outcome.kind !== 'WAITS') return outcome
      if (outcome.kind === 'RETRY') repeats++
      try {
        waiting(outcome.kind === 'WAITS')
        // oxlint-disable-next-line no-await-in-loop -- It waits for this.
        await timers.sleep(delayOf(outcome, row), row.signal)
      } catch {
        return outcome // Aborted: the code that aborts gives the row up.
      } finally {
        waiting(false)
      }
      // A suspended process resumes here before any timer has fired.
      const now = clock.monotonic()
      if (!row.hold.mayStart(now) || !isModeOpen(now)) {
        row.lose(new StateError('The lease of the table expired while the event waited.'))
        return outcome
      }
    }
  }
}

function repeated(row: DeliverableRow, repeats: number): DeliverableRow {
  const attempts = row.attempts + repeats
  return { event: row.event, attempts, attempt: attempts + 1, signal: row.signal }
}
