/** Rows of an outbox as operators see them. */

import { type BlockingEvent, keyOf, type OutboxEvent } from '@waybill/outbox/internal'
import { isPending, type SimOutboxRow } from './sim-outbox-row.ts'

/** Returns a row whatever its status. */
export function asFound(row: SimOutboxRow): OutboxEvent {
  const { seq, event, attempts, lastError, failureType, doneAt, status, createdAt, availableAt } = row
  return {
    seq,
    eventId: event.eventId,
    attempts,
    event: row.isBroken ? null : event,
    lastError,
    failureType,
    diedAt: doneAt,
    status,
    createdAt,
    availableAt,
  }
}

/** Returns a failed row that has pending rows of its key behind it. */
export function asBlocking(row: SimOutboxRow, rows: readonly SimOutboxRow[], countUpTo: number): BlockingEvent[] {
  const key = keyOf(row.event)
  const { seq, event, status, attempts, lastError, createdAt } = row
  if (key === null || (status !== 'RETRY' && status !== 'DEAD')) return []
  const behind = rows.filter((one) => {
    const other = keyOf(one.event)
    return (
      one.seq > seq &&
      one.isCommitted &&
      isPending(one) &&
      other?.aggregateId === key.aggregateId &&
      other.aggregateType === key.aggregateType
    )
  }).length
  if (behind === 0) return []
  return [
    {
      seq,
      eventId: event.eventId,
      key,
      status,
      attempts,
      lastError,
      createdAt,
      behind: Math.min(behind, countUpTo),
      more: behind > countUpTo,
    },
  ]
}
