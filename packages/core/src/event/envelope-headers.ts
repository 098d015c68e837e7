import { ArgumentError } from '../errors.ts'
import { cloudEventsPrefix, enginePrefix, eventHeader, processingAttemptsHeader } from '../header/header-names.ts'
import { showValue } from '../option/show-value.ts'
import { quote } from './event-errors.ts'
import { requireText } from './require-text.ts'
import { parseAggregateVersion, parseEventVersion } from './version.ts'

/** Headers of an event: text by name, frozen, without a prototype. */
export type EnvelopeHeaders = Readonly<Record<string, string>>

/** One header of an event. */
export type HeaderText = readonly [name: string, value: string]

/** Headers as one may hand them in: an object, a Map, a list of pairs. */
export type GivenHeaders = EnvelopeHeaders | Iterable<HeaderText>

const noHeaders: EnvelopeHeaders = Object.freeze(Object.create(null))

/** Written by wire formats and engine themselves. Were an event to bring its own, readers would take one for the other. */
const reserved: ReadonlySet<string> = new Set([
  eventHeader.id,
  eventHeader.eventType,
  eventHeader.occurredAt,
  eventHeader.aggregateType,
  eventHeader.tenantId,
  processingAttemptsHeader,
])
const reservedPrefixes = [enginePrefix, cloudEventsPrefix]

const base64 = 'base64'

/** Checks and copies the headers of a new envelope. */
export function readHeaders(given: GivenHeaders | undefined): EnvelopeHeaders {
  if (given === undefined) return noHeaders
  if (typeof given !== 'object' || given === null)
    throw new ArgumentError(`headers are an object, a Map or a list of pairs, not ${showValue(given)}.`)
  return collectHeaders(given, checkHeader)
}

/** Copies headers that were checked before. */
export function collectHeaders(
  given: GivenHeaders,
  check: (name: unknown, value: unknown) => void = () => {},
): EnvelopeHeaders {
  const headers: Record<string, string> = Object.create(null)
  for (const [name, value] of headerEntries(given)) {
    check(name, value)
    headers[name] = value
  }
  return Object.freeze(headers)
}

/** The pairs of headers, however they were given. */
export function headerEntries(given: GivenHeaders): Iterable<HeaderText> {
  return isIterable(given) ? given : Object.entries(given)
}

function isIterable(given: GivenHeaders): given is Iterable<HeaderText> {
  return Symbol.iterator in given
}

/** True when the payload is a JSON string of base64. */
export function isBase64Flag(headers: EnvelopeHeaders): boolean {
  return headers[eventHeader.payloadEncoding] === base64
}

/** The headers with or without the flag of {@link isBase64Flag}. */
export function withBase64Flag(headers: EnvelopeHeaders, isSet: boolean): EnvelopeHeaders {
  if (isBase64Flag(headers) === isSet) return headers
  const changed: Record<string, string> = Object.assign(Object.create(null), headers)
  if (isSet) changed[eventHeader.payloadEncoding] = base64
  else delete changed[eventHeader.payloadEncoding]
  return Object.freeze(changed)
}

function checkHeader(name: unknown, value: unknown): void {
  const known = requireText('A header name', name)
  const text = requireText(`The header ${quote(known)}`, value)
  if (reserved.has(known) || reservedPrefixes.some((prefix) => known.startsWith(prefix)))
    throw new ArgumentError(`The header ${quote(known)} is written by Waybill itself.`, {
      hint: 'Set the field of the envelope, or give the header another name.',
    })
  checkMeaning(known, text)
}

function checkMeaning(name: string, value: string): void {
  const isUnreadable =
    (name === eventHeader.eventVersion && parseEventVersion(value) === undefined) ||
    (name === eventHeader.aggregateVersion && parseAggregateVersion(value) === undefined) ||
    (name === eventHeader.payloadEncoding && value !== base64)
  if (isUnreadable)
    throw new ArgumentError(`The header ${quote(name)} cannot be ${quote(value)}: no consumer could read the event.`)
}
