/** What every store holds a row to, so that one database takes what another takes. */

import { ArgumentError, type EventEnvelope } from '@waybill/core'
import { requireText } from '@waybill/core/internal'

/** The text columns that have a width (S1-021), in characters. */
const widths = { eventId: 36, eventType: 128, aggregateType: 64, aggregateId: 128, tenantId: 64 } as const

/**
 * Checks what the databases would treat differently: one refuses a text that is too long, one cuts it, one takes it.
 *
 * @param headers - the headers as the column holds them
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

/** Why a column of this width cannot hold the text on every database. */
function textProblem(value: string, width: number): string | undefined {
  if (value.includes('\u0000')) return 'holds the character NUL, which PostgreSQL has no room for'
  // A character may be two units of a JavaScript text, never the other way round.
  if (value.length > width && Array.from(value).length > width) return `has more than ${width} characters`
  return undefined
}

/**
 * Checks an id that somebody asks for: one that no row can have, from a URL say, would fail the question of all who ask
 * with it in one statement.
 *
 * @throws an ArgumentError
 */
export function checkEventId(eventId: string): void {
  const problem = textProblem(requireText('The id of an event', eventId), widths.eventId)
  if (problem !== undefined) throw new ArgumentError(`The id of an event ${problem}.`)
}

/** An owner's name fills a column of constant width on MySQL. */
const ownerPattern = /^[!-~]{1,64}$/

/** @throws an ArgumentError for a name that the lock columns cannot hold */
export function checkOwner(owner: string): void {
  if (ownerPattern.test(owner)) return
  throw new ArgumentError(`${JSON.stringify(owner)} cannot be the owner of a lease.`, {
    hint: 'Take 1 to 64 visible ASCII characters without blanks.',
  })
}

/** What the column last_error holds at most (S1-059). */
const longestError = 4_000

/** An error's text as last_error holds it: at most 4,000 characters, and nothing that a database refuses. */
export function storableError(text: string): string {
  const clean = text.replaceAll('\u0000', '\ufffd').toWellFormed()
  if (clean.length <= longestError) return clean
  // Cutting through a surrogate pair would leave half of it.
  return `${clean.slice(0, longestError - 3).replace(/[\ud800-\udbff]$/, '')}...`
}
