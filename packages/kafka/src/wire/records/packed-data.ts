/** The two moves of which LZ4 and Snappy consist. */

import type { Buffer } from 'node:buffer'
import { WaybillError } from '@waybill/core'

/** Packed bytes that no packer wrote. */
export class PackedDataError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PACKED_DATA'
}

/** Below this many bytes a loop beats a call. */
const longCopy = 128

/** Takes bytes over as they are. The caller has checked both ends. */
export function copyLiterals(packed: Buffer, at: number, plain: Buffer, filled: number, length: number): void {
  if (length < longCopy)
    for (let index = 0; index < length; index++) plain[filled + index] = packed[at + index] as number
  else packed.copy(plain, filled, at, at + length)
}

/** Repeats `length` bytes that begin `distance` bytes before the end of what is filled. */
export function repeat(plain: Buffer, filled: number, distance: number, length: number): void {
  if (distance === 0 || distance > filled) throw new PackedDataError('it repeats what was never there')
  const end = filled + length
  if (end > plain.length) throw new PackedDataError('it unpacks to more than it claims')
  // Byte by byte where source and target overlap: that repeats a pattern, and is meant to.
  if (length < longCopy || distance < length) {
    for (let index = filled; index < end; index++) plain[index] = plain[index - distance] as number
  } else plain.copyWithin(filled, filled - distance, end - distance)
}
