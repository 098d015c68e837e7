import type { EventEnvelope } from '@waybill/core'

/** Returns the size of an event's payload and headers. Every other field has a short maximum length. */
export function eventBytes({ payloadJson, headers }: EventEnvelope): number {
  let bytes = Buffer.byteLength(payloadJson)
  for (const name in headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '')
  return bytes
}
