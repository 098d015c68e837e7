import { type Runtime, StateError } from '@waybill/core'
import type { HeldRow } from '../claim/held-row.ts'
import type { EngineParts } from '../dispatch/delivery-engine.ts'
import type { Deliver, DeliverableRow } from '../dispatch/listener-call.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'

export interface DeliverInPlaceDeps extends Pick<EngineParts, 'isModeOpen'> {
  readonly deliver: Deliver
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'logger'>
}

/**
 * Repeats a delivery in its worker slot until it has an outcome, for a mode in which no row may overtake another.
 * Written to the table as a retry, the row would be overtaken by those behind it. If it is aborted or may not start, it
 * is given up and delivered first later.
 */
export function deliverInPlace({
  deliver,
  isModeOpen,
  runtime,
}: DeliverInPlaceDeps): (row: HeldRow) => Promise<Outcome> {
  const { clock, timers, logger } = runtime
  return async (row) => {
    for (let repeats = 0; ; repeats++) {
      // oxlint-disable-next-line no-await-in-loop -- One attempt after the other.
      const outcome = await deliver(repeats === 0 ? row : repeated(row, repeats))
      if (outcome.kind !== 'RETRY') return outcome
      const { eventId } = row.event
      logger.info({ eventId, delayMs: outcome.delayMs }, 'Retry deferred by listener; later events wait')
      try {
        // oxlint-disable-next-line no-await-in-loop -- It waits for this.
        await timers.sleep(outcome.delayMs, row.signal)
      } catch {
        return outcome // Aborted: the code that aborts gives the row up.
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
