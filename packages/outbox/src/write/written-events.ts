/** Validates events to write. Untyped code can pass anything, and a database error, or none, would say less. */

import { ArgumentError, type EventEnvelope } from '@waybill/core'
import { nothingWritten } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'

/** @throws an ArgumentError if it is not a list; `expected` begins the message: `writeAll expects a list of events` */
export function requireList(given: readonly EventEnvelope[], expected: string): void {
  if (!Array.isArray(given)) throw new ArgumentError(`${expected}, got ${showValue(given)}.`, nothingWritten)
}

/** @throws an ArgumentError if one is not an envelope, before any resource is reserved for it */
export function requireEnvelopes(given: readonly EventEnvelope[]): void {
  for (const event of given)
    if (!isEnvelope(event))
      throw new ArgumentError(`An event to write must be an envelope, got ${showValue(event)}.`, {
        ...nothingWritten,
        hint: 'Create one with createEnvelope.',
      })
}

/**
 * Checks only the types of fields that every store reads. The rest was checked at creation, and the check runs per
 * event.
 */
function isEnvelope(event: Partial<EventEnvelope> | null | undefined): boolean {
  return (
    typeof event?.eventId === 'string' &&
    typeof event.eventType === 'string' &&
    typeof event.aggregateType === 'string' &&
    typeof event.payloadJson === 'string' &&
    typeof event.headers === 'object' &&
    event.headers !== null
  )
}
