import { recordUnchanged } from '../error-context.ts'
import { ParseError, quote } from '../event-errors.ts'
import { parseJsonBytes } from '../parse-json.ts'
import { memberText } from './member-text.ts'

/** The payload of a decoded event. It is parsed on first use, so an event without a handler costs no parsing. */
export interface WirePayload {
  /** Its bytes; not to be written into. */
  bytes(): Buffer
  /**
   * Its parsed JSON.
   *
   * @throws {@link ParseError} when the payload is something else.
   */
  json(): unknown
}

/** A payload that is a record's whole value. */
export function payloadOfBytes(bytes: Buffer): WirePayload {
  return { bytes: () => bytes, json: () => parseJsonBytes(bytes, 'The payload') }
}

/** A payload that stands as a member in the JSON object `text` and was parsed with it. */
export function payloadOfMember(text: Buffer, name: string, value: unknown): WirePayload {
  const bytes = (): Buffer => Buffer.from(memberText(text.toString('utf8'), name) ?? '', 'utf8')
  // The value parsed already goes to the first reader only: what that one changes, the next must not see.
  let isTaken = false
  const json = (): unknown => {
    if (isTaken) return parseJsonBytes(bytes(), 'The payload')
    isTaken = true
    return value
  }
  return { bytes, json }
}

/** A payload that is no JSON. */
export function payloadOfBinary(bytes: Buffer, mediaType: string): WirePayload {
  return {
    bytes: () => bytes,
    json: () => {
      throw new ParseError(`The payload is ${quote(mediaType)}, not JSON.`, recordUnchanged)
    },
  }
}
