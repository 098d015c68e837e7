import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import type { Outcome } from '../dispatch/row-outcome.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'

/** The fields of a row that a report contains. */
export interface ReportedRow {
  readonly eventId: string
  /** Failed attempts before this one. */
  readonly attempts: number
  readonly event: { readonly eventType: string } | null
}

/** Reports settlements in logs, metrics and engine events. */
export interface SettlementReport {
  /** Reports a row marked DEAD. */
  died(row: ReportedRow, error: string): void
  /** Reports one statement: the rows it changed, and those it did not find at its first attempt (I6). */
  counted(kind: Outcome['kind'], changed: number, fenced: number): void
}

const eventDead = engineChannel('outbox:event-dead')

/** @param name the outbox in logs and engine events: the prefix of its metrics */
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
      logger.error({ outbox: name, eventId, eventType: row.event?.eventType, attempts, error }, 'Event marked DEAD')
      if (eventDead.hasSubscribers) eventDead.publish({ outbox: name, eventId, attempts, error })
    },
    counted(kind, changed, fenced) {
      counters[kind](changed)
      telemetry.fenced(fenced)
      if (fenced > 0) logger.warn({ kind, rows: fenced }, 'Outcomes fenced: rows held or settled by another node')
    },
  }
}
