/**
 * The place of a message type in its file, as Confluent's serializers write it after the id of the schema: its index, and those
 * of the types around it. `[0]`, the first type of a file, is one zero byte.
 */

import { Buffer } from 'node:buffer'
import { unreadable } from './codec-errors.ts'
import { isMessageType, type ProtobufNode } from './protobuf-library.ts'

/** Types are nested in types, and files have few of them. */
const mostIndexes = 100

/** Returns the bytes of indexes. */
export function writeMessageIndexes(indexes: readonly number[]): Buffer {
  if (indexes.length === 1 && indexes[0] === 0) return Buffer.from([0])
  return Buffer.from([indexes.length, ...indexes].flatMap((value) => varint(value * 2)))
}

/** Returns the indexes and the bytes of the message behind them. @throws ParseError */
export function readMessageIndexes(body: Buffer): { readonly indexes: readonly number[]; readonly message: Buffer } {
  let position = 0
  const next = (): number => {
    let value = 0
    for (let factor = 1; factor <= 2 ** 28; factor *= 128) {
      const byte = body[position++]
      if (byte === undefined) throw unreadable('', 'is cut off in its message indexes')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
    throw unreadable('', 'has message indexes that are no integers')
  }
  const count = next()
  if (count < 0 || count > mostIndexes) throw unreadable('', `has ${count} message indexes`)
  const indexes = count === 0 ? [0] : Array.from({ length: count }, next)
  return { indexes, message: body.subarray(position) }
}

/** Returns the full name of the message type at indexes of a parsed file; undefined if it has none there. */
export function nameAtIndexes(file: ProtobufNode, indexes: readonly number[]): string | undefined {
  let types = topTypesOf(file)
  let found: ProtobufNode | undefined
  for (const index of indexes) {
    found = types[index]
    if (found === undefined) return undefined
    types = (found.nestedArray ?? []).filter(isMessageType)
  }
  return found?.fullName?.replace(/^\./, '')
}

/** Returns the indexes of a message type in a parsed file; undefined if it is not there. */
export function indexesOfName(file: ProtobufNode, name: string): readonly number[] | undefined {
  const search = (types: readonly ProtobufNode[]): readonly number[] | undefined => {
    for (const [index, type] of types.entries()) {
      if (type.fullName === `.${name}`) return [index]
      const inner = search((type.nestedArray ?? []).filter(isMessageType))
      if (inner !== undefined) return [index, ...inner]
    }
    return undefined
  }
  return search(topTypesOf(file))
}

/** Types outside of types, inside the package of the file. */
function topTypesOf(node: ProtobufNode): readonly ProtobufNode[] {
  return (node.nestedArray ?? []).flatMap((inner) => (isMessageType(inner) ? [inner] : topTypesOf(inner)))
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
}
