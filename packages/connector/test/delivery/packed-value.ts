import { Buffer } from 'node:buffer'
import { randomBytes } from '../records/fetched.ts'

/** How it has to be sent: it is larger than what a producer takes by default. */
export const packedProducer = { compression: 'ZSTD', maxRecordBytes: 2_000_000 } as const

/** Repeats itself at a distance that ZSTD sees and LZ4 does not: small for a source, too large for what is derived. */
export function packedValue(): Buffer {
  return Buffer.concat(Array<Buffer>(8).fill(randomBytes(200_000)))
}
