/** The frame that Confluent's serializers put before a payload: a zero byte, then the id of its schema as four bytes. */

import { Buffer } from 'node:buffer'
import { unreadable } from './codec-errors.ts'

const magicByte = 0
const headBytes = 5

/** A payload with the id of the schema that it was written with. */
export interface Frame {
  readonly schemaId: number
  /** A view of the framed bytes. */
  readonly body: Buffer
}

/** Returns whether bytes begin like a frame. JSON text does not: a zero byte is no part of it. */
export function isFramed(bytes: Uint8Array): boolean {
  return bytes.byteLength >= headBytes && bytes[0] === magicByte
}

/** @throws ParseError for bytes that are no frame */
export function readFrame(bytes: Buffer): Frame {
  if (bytes.byteLength < headBytes) throw unreadable('', `is ${bytes.byteLength} bytes long, too short for a schema id`)
  if (bytes[0] !== magicByte)
    throw unreadable('', `begins with byte ${bytes[0]}, not with the zero byte before a schema id`)
  return { schemaId: bytes.readInt32BE(1), body: bytes.subarray(headBytes) }
}

/** Returns the frame of a payload, whose parts may be several. */
export function writeFrame(schemaId: number, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeInt32BE(schemaId, 1)
  return Buffer.concat([head, ...parts])
}
