import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import type { Outcome } from '../dispatch/row-outcome.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'

/** What a report says about a row. */
export interface ReportedRow {
  readonly eventId: string
  /** Failed attempts before this one. */
  readonly attempts: number
  readonly event: { readonly eventType: string } | null
}

/** Says in logs, metrics and engine events what became of rows. */
export interface SettlementReport {
  /** A row is DEAD (S1-110). */
  died(row: ReportedRow, error: string): void
  /** A statement is over: so many rows it changed, and so many it did not find at first sight (I6). */
  counted(kind: Outcome['kind'], changed: number, fenced: number): void
}

const eventDead = engineChannel('outbox:event-dead')

/** @param name how logs and engine events call the outbox: the prefix of its metrics */
export function createSettlementReport(
  name: string,
  telemetry: Pick<OutboxTelemetry, 'succeeded' | 'failed' | 'died' | 'fenced'>,
  { logger }: Pick<Runtime, 'logger'>,
): SettlementReport {
  const counters = { DONE: telemetry.succeeded, RETRY: telemetry.failed, DEAD: telemetry.died }
  return {
    died(row, error) {
      const { eventId } = row
      const attempts = row.attempts + 1
      logger.error({ outbox: name, eventId, eventType: row.event?.eventType, attempts, error }, 'An event is DEAD')
      if (eventDead.hasSubscribers) eventDead.publish({ outbox: name, eventId, attempts, error })
    },
    counted(kind, changed, fenced) {
      counters[kind](changed)
      telemetry.fenced(fenced)
      if (fenced > 0)
        logger.warn({ kind, rows: fenced }, 'Outcomes came too late: others hold or have finished these rows')
    },
  }
}
