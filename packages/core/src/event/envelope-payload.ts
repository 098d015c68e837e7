import { types } from 'node:util'
import { ArgumentError } from '../errors.ts'
import { decodeBase64 } from './base64.ts'
import { type EnvelopeHeaders, isBase64Flag, withBase64Flag } from './envelope-headers.ts'
import { nothingWritten } from './error-context.ts'
import { PayloadTooLargeError } from './event-errors.ts'
import { parseJson, refuseProtoKey } from './parse-json.ts'
import { requireText } from './require-text.ts'
import { utf8Text } from './utf8.ts'

/** The largest payload: 1 MiB, about what a Kafka broker accepts by default. */
export const maxPayloadBytes: number = 1_048_576

/** A payload as JSON text or as bytes; one of the two. */
export type GivenPayload =
  | { readonly payloadJson: string; readonly payloadBytes?: undefined }
  | { readonly payloadBytes: Uint8Array; readonly payloadJson?: undefined }

/** A payload as an envelope keeps it. */
export interface CheckedPayload {
  readonly payloadJson: string
  readonly headers: EnvelopeHeaders
}

/** Checks the payload of a new envelope and makes it the text that is stored, flagged in the headers where it is no JSON. */
export function readPayload(
  eventType: string,
  { payloadJson, payloadBytes }: GivenPayload,
  headers: EnvelopeHeaders,
): CheckedPayload {
  if ((payloadJson === undefined) === (payloadBytes === undefined))
    throw new ArgumentError(`${eventType} needs either payloadJson or payloadBytes, and not both.`)
  if (payloadJson !== undefined) return { payloadJson: checkJson(eventType, payloadJson, headers), headers }

  if (!types.isUint8Array(payloadBytes)) throw new ArgumentError(`The payloadBytes of ${eventType} are no Uint8Array.`)
  checkPayloadSize(eventType, payloadBytes.byteLength)
  const json = jsonOf(payloadBytes, `The payload of ${eventType}`)
  return json === undefined
    ? { payloadJson: `"${base64Of(payloadBytes)}"`, headers: withBase64Flag(headers, true) }
    : { payloadJson: json, headers: withBase64Flag(headers, false) }
}

function checkJson(eventType: string, payloadJson: string, headers: EnvelopeHeaders): string {
  requireText('payloadJson', payloadJson)
  const subject = `The payloadJson of ${eventType}`
  if (!isBase64Flag(headers)) {
    checkPayloadSize(eventType, Buffer.byteLength(payloadJson, 'utf8'))
    parseJson(payloadJson, subject)
    return payloadJson
  }
  const bytes = decodeBase64(payloadJson.slice(1, -1))
  if (bytes === undefined || payloadJson !== `"${base64Of(bytes)}"`)
    throw new ArgumentError(`${subject} is no JSON string in base64, but its headers say so.`)
  checkPayloadSize(eventType, bytes.byteLength)
  return payloadJson
}

/** Returns the bytes as text when they are UTF-8 and JSON, which a JSON column accepts. */
function jsonOf(bytes: Uint8Array, subject: string): string | undefined {
  const text = utf8Text(bytes)
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  refuseProtoKey(value, text, subject, nothingWritten)
  return text
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Refuses a payload above {@link maxPayloadBytes}. */
export function checkPayloadSize(eventType: string, bytes: number): void {
  if (bytes > maxPayloadBytes) throw new PayloadTooLargeError(eventType, bytes, maxPayloadBytes)
}
