/**
 * Checks that the commit metadata of a binding always fits. A commit that the broker rejects for its length can never
 * succeed, so a binding that could reach that point does not start.
 */

import type { OrderingMode } from '../api/binding.ts'
import { widestOffsetSet } from '../ledger/offset-set.ts'

/** Kafka accepts 4,096 bytes by default; the rest is reserved for fields of later versions. */
export const metadataCharacters = 4_000

/**
 * All counters at the largest possible offset, with their names: 6 of the source with at most 23 characters, 9 of the
 * waiting topic with at most 24, and the names of the two sets.
 */
const counterCharacters = 400

/** Of base64url. */
const bitsPerCharacter = 6

/** The options that limit the distance between settled offsets. */
export interface MetadataBounds {
  readonly orderingMode: OrderingMode
  readonly maxAhead: number
  readonly maxWaitingRecords: number
}

/** The space that commit metadata may need, with the arithmetic. */
export interface MetadataRoom {
  /** The largest distance of a settled offset from its position. */
  readonly reach: number
  readonly neededCharacters: number
  readonly fits: boolean
  readonly arithmetic: string
}

/** Returns the maximum span of a waiting partition from its position to its end; beyond it the lowest is rewritten. */
export function waitingSpan({ maxAhead, maxWaitingRecords }: Omit<MetadataBounds, 'orderingMode'>): number {
  return 2 * (maxWaitingRecords + maxAhead)
}

/** Plans the metadata: one bit for each offset that may be settled above a position. */
export function planMetadataRoom(bounds: MetadataBounds): MetadataRoom {
  const { orderingMode, maxAhead, maxWaitingRecords } = bounds
  const span = orderingMode === 'KEY' ? waitingSpan(bounds) : 0
  // While the lowest record is being rewritten, up to maxAhead others can be appended before it.
  const reach = maxAhead + span
  const neededCharacters =
    Math.ceil(maxAhead / bitsPerCharacter) + Math.ceil(span / bitsPerCharacter) + counterCharacters
  const spanText =
    span === 0 ? '' : ` + 2 x (${maxWaitingRecords} of keyOrder.maxWaitingRecords + ${maxAhead}) = ${reach}`
  return {
    reach,
    neededCharacters,
    fits: reach <= widestOffsetSet && neededCharacters <= metadataCharacters,
    arithmetic:
      `${maxAhead} offsets of maxAhead${spanText}, at most ${widestOffsetSet} fit; ` +
      `${neededCharacters} characters, at most ${metadataCharacters} fit`,
  }
}
