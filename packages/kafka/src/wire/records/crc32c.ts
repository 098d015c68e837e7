import type { Buffer } from 'node:buffer'
import { loadChecksum } from './compiled-code.ts'

let checksum: ((bytes: Buffer) => number) | undefined

/** Computes the checksum of a record batch: CRC-32C (Castagnoli), which node:zlib does not have. */
export function crc32c(bytes: Buffer): number {
  return prepareChecksum()(bytes)
}

/** Loads the checksum, so that a missing dependency fails before any record is sent. @throws StateError */
export function prepareChecksum(): (bytes: Buffer) => number {
  checksum ??= loadChecksum()
  return checksum
}
