/** Decides how a batch is decompressed: at once, slice by slice, or not at all. */

import type { Buffer } from 'node:buffer'
import type { RecordOrigin } from '../../wire/records/batch-facts.ts'
import { CorruptBatchError } from '../../wire/records/corrupt-batch-error.ts'
import { type OversizedBatch, OversizedBatchError } from '../../wire/records/oversized-batch-error.ts'
import type { RecordBatch } from '../../wire/records/record-batch.ts'
import type { RecordCursor } from '../../wire/records/record-cursor.ts'
import { chunkBytes } from '../../wire/records/unpack-chunks.ts'
import type { TurnBudget } from './turn-budget.ts'

/** The bounds of decompression. All feeds of a fetcher share the budget. */
export interface UnpackLimits {
  readonly maxBatchBytes: number
  readonly turn: Pick<TurnBudget, 'isSpent' | 'spend' | 'breathe'>
}

/** The batch whose records are handed out. */
export interface OpenedBatch {
  readonly cursor: RecordCursor
  /** Its slices, for a batch that is not decompressed at once. */
  readonly slices: AsyncGenerator<Buffer> | undefined
  /** Bytes that are decompressed. */
  readonly unpackedBytes: number
}

/**
 * Opens a batch whose records from `from` on are to be handed out. Returns undefined for one that waits for another turn
 * of the event loop. A batch that is too large waits, too, when records before it are handed out in the same call
 * (`isLater`): they are processed before it is reported.
 *
 * @throws OversizedBatchError, CorruptBatchError
 */
export function openBatch(
  batch: RecordBatch,
  origin: RecordOrigin,
  from: bigint,
  { maxBatchBytes, turn }: UnpackLimits,
  isLater: boolean,
): OpenedBatch | undefined {
  if (batch.compression !== 'NONE' && turn.isSpent) return undefined
  batch.verify()
  const cursor = batch.cursor(origin, from)
  if (batch.compression === 'NONE') {
    cursor.fill(batch.unpack())
    return { cursor, slices: undefined, unpackedBytes: 0 }
  }
  const oversized = (bytes: number, isAtLeast: boolean): Error =>
    new OversizedBatchError(factsOf(batch, origin, cursor.nextDelta, bytes, isAtLeast), maxBatchBytes)
  const { atLeast, atMost } = batch.claimedSize()
  if (atLeast > maxBatchBytes) {
    if (isLater) return undefined
    throw oversized(atLeast, atLeast < atMost)
  }
  const body = atMost > Math.min(chunkBytes, maxBatchBytes) ? undefined : unpackAtOnce(batch, maxBatchBytes)
  if (body !== undefined) {
    cursor.fill(body)
    turn.spend(body.length)
    return { cursor, slices: undefined, unpackedBytes: body.length }
  }
  return {
    cursor,
    slices: batch.slices({
      maxBytes: maxBatchBytes,
      exceeded: (bytes) => oversized(bytes, true),
      breathe: (bytes) => turn.breathe(bytes),
    }),
    get unpackedBytes() {
      return cursor.bodyBytes + chunkBytes // The decompressor works one chunk ahead.
    },
  }
}

/** Decompresses a small batch. Returns undefined for one that is larger than it claims, which gzip permits. */
function unpackAtOnce(batch: RecordBatch, maxBatchBytes: number): Buffer | undefined {
  try {
    return batch.unpack(Math.min(chunkBytes, maxBatchBytes))
  } catch (error) {
    const cause =
      error instanceof CorruptBatchError ? (error.cause as { readonly code?: string } | undefined) : undefined
    if (cause?.code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

function factsOf(
  { baseOffset, lastOffset, byteLength, maxTimestamp }: RecordBatch,
  { topic, partition }: RecordOrigin,
  nextDelta: number,
  bytes: number,
  isAtLeast: boolean,
): OversizedBatch {
  return {
    topic,
    partition,
    firstOffset: baseOffset + BigInt(nextDelta),
    lastOffset,
    bytes,
    isAtLeast,
    packedBytes: byteLength,
    timestamp: maxTimestamp,
  }
}
