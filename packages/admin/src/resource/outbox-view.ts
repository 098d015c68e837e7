import { instantOf } from '../json/write-json.ts'
import type { BlockingRow, DeadEventRow, OutboxEventRow } from '../service/admin-outbox.ts'
import { headerView, type PayloadRule, textView, valueView } from '../service/payload-view.ts'

/** Returns a DEAD event as lists show it. */
export function deadEventView(row: DeadEventRow, { isShown }: PayloadRule): object {
  const { seq, eventId, event, attempts, lastError, failureType, diedAt } = row
  return {
    seq,
    eventId,
    eventType: event?.eventType ?? null,
    aggregateType: event?.aggregateType ?? null,
    aggregateId: textView(event?.aggregateId ?? null, isShown),
    attempts,
    lastError: textView(lastError, isShown),
    failureType: failureType ?? null,
    diedAt: instantOf(diedAt),
  }
}

/** Returns a row with its payload. */
export function outboxEventView(row: OutboxEventRow, rule: PayloadRule): object {
  const { event, status, createdAt, availableAt } = row
  return {
    ...deadEventView(row, rule),
    status,
    createdAt: instantOf(createdAt),
    availableAt: instantOf(availableAt),
    occurredAt: instantOf(event?.occurredAt),
    tenantId: event?.tenantId ?? null,
    payload: valueView(event?.payloadJson ?? null, rule),
    headers: Object.entries(event?.headers ?? {}).map(([name, value]) => ({
      name,
      value: headerView(name, typeof value === 'string' ? value : JSON.stringify(value), rule),
    })),
  }
}

/** Returns a failed event that others wait for. */
export function blockerView(row: BlockingRow, isShown: boolean): object {
  const { seq, eventId, key, status, attempts, lastError, createdAt, behind, more } = row
  return {
    seq,
    eventId,
    aggregateType: key.aggregateType,
    aggregateId: textView(key.aggregateId, isShown),
    status,
    attempts,
    lastError: textView(lastError, isShown),
    since: instantOf(createdAt),
    behind: { count: BigInt(behind), exact: !more },
  }
}
