/** How the records of a batch are packed and unpacked. */

import type { Buffer } from 'node:buffer'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { unpackLz4 } from './unpack-lz4.ts'
import { unpackSnappy } from './unpack-snappy.ts'

/** How a batch's records are packed. */
export type Compression = 'NONE' | 'GZIP' | 'SNAPPY' | 'LZ4' | 'ZSTD'

/** All of them, each at its number in a batch's attributes. */
export const compressions: readonly Compression[] = ['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD']

/**
 * Most bytes a batch may unpack to. A few kilobytes can claim to be terabytes; brokers take at most a megabyte packed
 * unless told otherwise, and this leaves a factor of 256.
 */
const maxUnpackedBytes = 256 * 1024 * 1024

/** The compression with that number. */
export function compressionOf(number: number): Compression {
  const compression = compressions[number]
  if (compression === undefined) throw new CorruptBatchError(`it names compression ${number}, which does not exist`)
  return compression
}

/** The number of a compression in a batch's attributes. */
export function compressionNumber(compression: Compression): number {
  return compressions.indexOf(compression)
}

/** Packs the records of a batch. */
export function compress(compression: Compression, records: Buffer): Buffer {
  if (compression === 'NONE') return records
  return compressionsAlgorithms[libraryName[compression]].compressSync(records)
}

/** Unpacks the records of a batch. @throws CorruptBatchError also when they are more than `maxBytes`. */
export function decompress(compression: Compression, packed: Buffer, maxBytes: number = maxUnpackedBytes): Buffer {
  try {
    switch (compression) {
      case 'NONE':
        return packed
      case 'GZIP':
        return gunzipSync(packed, { maxOutputLength: maxBytes })
      case 'ZSTD':
        return zstdDecompressSync(packed, { maxOutputLength: maxBytes })
      case 'SNAPPY':
        return unpackSnappy(packed, maxBytes)
      case 'LZ4':
        return unpackLz4(packed, maxBytes)
    }
  } catch (error) {
    throw new CorruptBatchError(`its ${compression} data cannot be unpacked`, error)
  }
}

const libraryName = { GZIP: 'gzip', SNAPPY: 'snappy', LZ4: 'lz4', ZSTD: 'zstd' } as const
