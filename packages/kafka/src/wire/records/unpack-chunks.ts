/**
 * Decompresses records chunk by chunk, so that neither memory nor the event loop carries a whole batch. zlib runs on
 * other threads and stops when a chunk is not taken; LZ4 and Snappy run here, one chunk per call.
 */

import type { Buffer } from 'node:buffer'
import type { Transform } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Compression } from './compression.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { lz4Chunks } from './unpack-lz4.ts'
import { snappyChunks } from './unpack-snappy.ts'

/**
 * The size of a chunk: a millisecond of Snappy, three of gzip. Smaller chunks cost more hand-overs between threads,
 * larger ones hold up the event loop.
 */
export const chunkBytes: number = 1024 * 1024

/** Yields what packed records decompress to, in chunks that are about as large as {@link chunkBytes}. */
export async function* unpackChunks(compression: Compression, packed: Buffer): AsyncGenerator<Buffer> {
  try {
    switch (compression) {
      case 'NONE':
        yield packed
        return
      case 'GZIP':
        yield* throughStream(createGunzip({ chunkSize: chunkBytes }), packed)
        return
      case 'ZSTD':
        yield* throughStream(createZstdDecompress({ chunkSize: chunkBytes }), packed)
        return
      case 'SNAPPY':
        yield* snappyChunks(packed, chunkBytes)
        return
      case 'LZ4':
        yield* lz4Chunks(packed, chunkBytes)
        return
    }
  } catch (error) {
    throw new CorruptBatchError(`its ${compression} data cannot be decompressed`, error)
  }
}

/** Leaving the loop early destroys the stream. */
async function* throughStream(stream: Transform, packed: Buffer): AsyncGenerator<Buffer> {
  stream.end(packed)
  for await (const chunk of stream) yield chunk as Buffer
}
