/**
 * Checks the structure of Protobuf bytes before they are decoded. A decoder takes a member with another wire type for an unknown
 * one and its value for absent; the scan refuses it, and names the member that cannot be read.
 */

import { type Buffer, isUtf8 } from 'node:buffer'
import { ParseError } from '@waybill/core'
import { formatPath } from '@waybill/core/internal'
import { unreadable } from './codec-errors.ts'
import { messageOf, type ProtobufField, type ProtobufType } from './protobuf-library.ts'

const varint = 0
const eightBytes = 1
const counted = 2
const groupStart = 3
const groupEnd = 4
const fourBytes = 5

/** Messages inside of messages. */
const deepest = 100

/** Those of scalars. The type of an enumeration is its name, whatever that is. */
const wireTypes: ReadonlyMap<string, number> = new Map(
  Object.entries({
    double: eightBytes,
    fixed64: eightBytes,
    sfixed64: eightBytes,
    float: fourBytes,
    fixed32: fourBytes,
    sfixed32: fourBytes,
    string: counted,
    bytes: counted,
    int32: varint,
    uint32: varint,
    sint32: varint,
    int64: varint,
    uint64: varint,
    sint64: varint,
    bool: varint,
  }),
)

/** @throws ParseError with the path of the first member that cannot be read */
export function scanProtobuf(type: ProtobufType, bytes: Buffer): void {
  const path: string[] = []
  try {
    scanMessage(type, { bytes, position: 0 }, bytes.length, path)
  } catch (thrown) {
    if (thrown instanceof ParseError) throw unreadable(formatPath(path), thrown.happened)
    throw thrown
  }
}

interface Cursor {
  readonly bytes: Buffer
  position: number
}

/** Leaves the path of the member that it was in when it threw. */
function scanMessage(type: ProtobufType | null, cursor: Cursor, end: number, path: string[]): void {
  if (path.length > deepest) throw new ParseError('is nested too deeply')
  while (cursor.position < end) {
    const tag = readVarint(cursor, end)
    const id = Math.floor(tag / 8)
    if (id === 0) throw new ParseError('has a member with number 0')
    const field = type?.fieldsById[id]
    path.push(field?.name ?? `#${id}`)
    scanMember(field, tag % 8, cursor, end, path)
    path.pop()
  }
}

function scanMember(
  field: ProtobufField | undefined,
  wireType: number,
  cursor: Cursor,
  end: number,
  path: string[],
): void {
  if (field !== undefined) requireWireType(field, wireType)
  if (wireType === varint) readVarint(cursor, end)
  else if (wireType === eightBytes) skip(cursor, 8, end)
  else if (wireType === fourBytes) skip(cursor, 4, end)
  else if (wireType === groupStart) skipGroup(cursor, end, 0)
  else if (wireType !== counted) throw new ParseError(`has wire type ${wireType}`)
  else {
    const start = readVarint(cursor, end) + cursor.position
    if (start > end) throw new ParseError('is cut off')
    if (field !== undefined) scanCounted(field, cursor, start, path)
    cursor.position = start
  }
}

function scanCounted(field: ProtobufField, cursor: Cursor, end: number, path: string[]): void {
  const message = messageOf(field)
  if (field.map) return // Its keys and values are checked by the decoder.
  if (message !== null) scanMessage(message, cursor, end, path)
  else if (field.type === 'string' && !isUtf8(cursor.bytes.subarray(cursor.position, end)))
    throw new ParseError('is not UTF-8')
}

function requireWireType(field: ProtobufField, wireType: number): void {
  const isCounted = field.map || (messageOf(field) !== null && !field.delimited)
  const own = isCounted ? counted : field.delimited ? groupStart : (wireTypes.get(field.type) ?? varint)
  const isPacked = field.repeated && wireType === counted && own !== counted && own !== groupStart
  if (wireType !== own && !isPacked) throw new ParseError(`has wire type ${wireType}, not ${own} as ${field.type} has`)
}

function skipGroup(cursor: Cursor, end: number, depth: number): void {
  if (depth > deepest) throw new ParseError('is nested too deeply')
  for (;;) {
    const wireType = readVarint(cursor, end) % 8
    if (wireType === groupEnd) return
    if (wireType === groupStart) skipGroup(cursor, end, depth + 1)
    else if (wireType === varint) readVarint(cursor, end)
    else if (wireType === eightBytes) skip(cursor, 8, end)
    else if (wireType === fourBytes) skip(cursor, 4, end)
    else if (wireType === counted) skip(cursor, readVarint(cursor, end), end)
    else throw new ParseError(`has wire type ${wireType}`)
  }
}

function skip(cursor: Cursor, bytes: number, end: number): void {
  if (bytes > end - cursor.position) throw new ParseError('is cut off')
  cursor.position += bytes
}

/** Returns an integer of up to ten bytes; above 2^53 it is not exact. */
function readVarint(cursor: Cursor, end: number): number {
  let value = 0
  for (let index = 0, factor = 1; index < 10; index++, factor *= 128) {
    if (cursor.position >= end) throw new ParseError('is cut off')
    const byte = cursor.bytes[cursor.position++] as number
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return value
  }
  throw new ParseError('is no 64-bit integer')
}
