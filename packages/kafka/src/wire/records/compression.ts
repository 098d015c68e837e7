/** Compression and decompression of the records of a batch. */

import type { Buffer } from 'node:buffer'
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { loadWasm } from './compiled-code.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { unpackLz4 } from './unpack-lz4.ts'
import { unpackSnappy } from './unpack-snappy.ts'

/** A compression of record batches. */
export type Compression = 'NONE' | 'GZIP' | 'SNAPPY' | 'LZ4' | 'ZSTD'

/** All compressions, each at its number in a batch's attributes. */
export const compressions: readonly Compression[] = ['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD']

/**
 * The most bytes a batch may decompress to by default. A few kilobytes can claim to be terabytes; brokers accept at most
 * one compressed megabyte by default, and this leaves a factor of 256.
 */
export const defaultMaxBatchBytes: number = 256 * 1024 * 1024

/** Returns the compression with that number. @throws CorruptBatchError */
export function compressionOf(number: number): Compression {
  const compression = compressions[number]
  if (compression === undefined) throw new CorruptBatchError(`it names compression ${number}, which does not exist`)
  return compression
}

/** Returns the number of a compression in a batch's attributes. */
export function compressionNumber(compression: Compression): number {
  return compressions.indexOf(compression)
}

/** Compresses the records of a batch. */
export function compress(compression: Compression, records: Buffer): Buffer {
  switch (compression) {
    case 'NONE':
      return records
    case 'GZIP':
      return gzipSync(records)
    case 'ZSTD':
      return zstdCompressSync(records)
    case 'SNAPPY':
      return loadWasm().snappyCompress(records)
    case 'LZ4':
      return loadWasm().lz4Compress(records)
  }
}

/** Decompresses the records of a batch. @throws CorruptBatchError also when they exceed `maxBytes`. */
export function decompress(compression: Compression, packed: Buffer, maxBytes: number = defaultMaxBatchBytes): Buffer {
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
    throw new CorruptBatchError(`its ${compression} data cannot be decompressed`, error)
  }
}
