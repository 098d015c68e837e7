/** What may be written: untyped code hands over anything, and an error of the database, or none, would say less. */

import { ArgumentError, type EventEnvelope } from '@waybill/core'
import { nothingWritten } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'

/** @throws an ArgumentError for what is no list; `expected` begins the sentence: `writeAll takes a list of events` */
export function requireList(given: readonly EventEnvelope[], expected: string): void {
  if (!Array.isArray(given)) throw new ArgumentError(`${expected}, not ${showValue(given)}.`, nothingWritten)
}

/** @throws an ArgumentError for what is no envelope, before anything is kept for it */
export function requireEnvelopes(given: readonly EventEnvelope[]): void {
  for (const event of given)
    if (!isEnvelope(event))
      throw new ArgumentError(`An event to write is an envelope, not ${showValue(event)}.`, {
        ...nothingWritten,
        hint: 'Make one with createEnvelope.',
      })
}

/** Only what every store reads of it, and only its kind: the rest was checked when it was made, and each event pays. */
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
