/** The facts about a dead letter that filters, groups and the index share: each is read in one way only. Pure. */

import type { StoredDeadLetter } from '@waybill/connector'
import { cloudEventsHeader, deadLetterHeader, eventHeader, traceHeader } from '@waybill/core/internal'

/** Returns the type of the event; undefined if the record names none. */
export function eventTypeOf({ record: { headers } }: StoredDeadLetter): string | undefined {
  return headers.text(eventHeader.eventType) ?? headers.text(cloudEventsHeader.type)
}

/** Returns the id of the event; undefined if the record names none. */
export function eventIdOf({ record: { headers } }: StoredDeadLetter): string | undefined {
  return headers.text(eventHeader.id) ?? headers.text(cloudEventsHeader.id)
}

/** Returns the trace that created the event, as a `traceparent`. */
export function traceparentOf({ record: { headers } }: StoredDeadLetter): string | undefined {
  return headers.text(traceHeader.traceparent) ?? headers.text(cloudEventsHeader.traceparent)
}

/** Returns the id of the trace that created the event. */
export function traceIdOf(letter: StoredDeadLetter): string | undefined {
  const id = traceparentOf(letter)?.split('-')[1]
  return id !== undefined && /^[0-9a-f]{32}$/.test(id) ? id : undefined
}

const stackHeaders = [
  deadLetterHeader.exceptionStacktrace,
  'kafka_dlt-exception-stacktrace',
  '__connect.errors.exception.stacktrace',
]

/** Returns the stack of the last failure; undefined if its writer recorded none. */
export function stackOf({ record: { headers } }: StoredDeadLetter): string | undefined {
  for (const name of stackHeaders) {
    const stack = headers.text(name)
    if (stack !== undefined) return stack
  }
  return undefined
}

/** Returns the size of key, value and headers. */
export function sizeOf({ record: { key, value, headers } }: StoredDeadLetter): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, text] of headers) bytes += name.length + (text?.length ?? 0)
  return bytes
}
