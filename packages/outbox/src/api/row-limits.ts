/** The limits that every store puts on a row, so that all databases accept the same events. */

import { ArgumentError, type EventEnvelope } from '@waybill/core'
import { requireText } from '@waybill/core/internal'

/** The widths of the text columns, in characters. */
const widths = { eventId: 36, eventType: 128, aggregateType: 64, aggregateId: 128, tenantId: 64 } as const

/**
 * Checks an event against the column limits. Databases differ: one rejects a text that is too long, one truncates it,
 * one accepts it.
 *
 * @param headers - the headers as stored in the column
 * @throws an ArgumentError; nothing was sent
 */
export function checkStorable(event: EventEnvelope, headers: string | null): void {
  for (const [field, width] of Object.entries(widths) as [keyof typeof widths, number][])
    checkText(event.eventType, field, event[field], width)
  checkText(event.eventType, 'headers', headers, Number.POSITIVE_INFINITY)
}

function checkText(eventType: string, field: string, value: string | null, width: number): void {
  if (value === null) return
  const problem = textProblem(value, width)
  if (problem === undefined) return
  throw new ArgumentError(`The ${field} of ${eventType} ${problem}.`, { impact: 'Nothing was written.' })
}

/** Returns why a column of this width cannot hold the text on every database. */
function textProblem(value: string, width: number): string | undefined {
  if (value.includes('\u0000')) return 'contains the NUL character, which PostgreSQL cannot store'
  // A character may be two UTF-16 units, never the other way round.
  if (value.length > width && Array.from(value).length > width) return `has more than ${width} characters`
  return undefined
}

/**
 * Checks an event id that a caller passed. Ids are looked up in batches: one that no row can have, say from a URL,
 * would fail the query of all callers.
 *
 * @throws an ArgumentError
 */
export function checkEventId(eventId: string): void {
  const problem = textProblem(requireText('The id of an event', eventId), widths.eventId)
  if (problem !== undefined) throw new ArgumentError(`The id of an event ${problem}.`)
}

/** Owner names are stored in a fixed-width column on MySQL. */
const ownerPattern = /^[!-~]{1,64}$/

/** @throws an ArgumentError for a name that the lock columns cannot hold */
export function checkOwner(owner: string): void {
  if (ownerPattern.test(owner)) return
  throw new ArgumentError(`${JSON.stringify(owner)} cannot be the owner of a lease.`, {
    hint: 'Use 1 to 64 printable ASCII characters without spaces.',
  })
}

/** The maximum length of the column last_error. */
const longestError = 4_000

/** Returns an error's text as stored in last_error: at most 4,000 characters, and none that a database rejects. */
export function storableError(text: string): string {
  const clean = text.replaceAll('\u0000', '\ufffd').toWellFormed()
  if (clean.length <= longestError) return clean
  // Do not cut a surrogate pair in half.
  return `${clean.slice(0, longestError - 3).replace(/[\ud800-\udbff]$/, '')}...`
}
