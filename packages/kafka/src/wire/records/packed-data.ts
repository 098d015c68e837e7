/** The two operations of which LZ4 and Snappy consist. */

import type { Buffer } from 'node:buffer'
import { WaybillError } from '@waybill/core'

/** Compressed bytes that no compressor wrote. */
export class PackedDataError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PACKED_DATA'
}

/** Below this length a loop is cheaper than a call. */
const longCopy = 128

/** Copies literal bytes. The caller has checked both bounds. */
export function copyLiterals(packed: Buffer, at: number, plain: Buffer, filled: number, length: number): void {
  if (length < longCopy)
    for (let index = 0; index < length; index++) plain[filled + index] = packed[at + index] as number
  else packed.copy(plain, filled, at, at + length)
}

/** Repeats `length` bytes from `distance` bytes before the end of the output. */
export function repeat(plain: Buffer, filled: number, distance: number, length: number): void {
  if (distance === 0 || distance > filled) throw new PackedDataError('it repeats bytes before its start')
  const end = filled + length
  if (end > plain.length) throw new PackedDataError('it decompresses to more than it claims')
  if (length < longCopy) {
    for (let index = filled; index < end; index++) plain[index] = plain[index - distance] as number
    return
  }
  // Where source and target overlap, each copy doubles the pattern that the next one can take.
  const start = filled - distance
  for (let at = filled; at < end; ) {
    const bytes = Math.min(at - start, end - at)
    plain.copyWithin(at, start, start + bytes)
    at += bytes
  }
}
