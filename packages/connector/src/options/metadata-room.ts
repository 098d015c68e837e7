/**
 * Whether what a commit says beside its offset fits (D21, D22). A commit that a broker refuses for its length can never
 * be made, so a binding that could come there does not start.
 */

import type { OrderingMode } from '../api/binding.ts'
import { widestOffsetSet } from '../ledger/offset-set.ts'

/** What Kafka accepts is 4,096 bytes unless a broker says otherwise; a little is left for what versions to come add. */
export const metadataCharacters = 4_000

/**
 * All counters at the largest number that an offset can be, with their names: 6 of the source of at most 23 characters,
 * 9 of the waiting topic of at most 24, and the names of the two sets.
 */
const counterCharacters = 400

/** base64url. */
const bitsPerCharacter = 6

/** What decides how far apart settled offsets may lie. */
export interface MetadataBounds {
  readonly orderingMode: OrderingMode
  readonly maxAhead: number
  readonly maxWaitingRecords: number
}

/** How much a commit may have to remember, with the arithmetic. */
export interface MetadataRoom {
  /** The farthest that one set may reach above its position. */
  readonly reach: number
  readonly neededCharacters: number
  readonly fits: boolean
  readonly arithmetic: string
}

/** Offsets of a waiting partition that may lie between its position and its end: beyond it the lowest is written again. */
export function waitingSpan({ maxAhead, maxWaitingRecords }: Omit<MetadataBounds, 'orderingMode'>): number {
  return 2 * (maxWaitingRecords + maxAhead)
}

/** One bit for each offset that may be settled above a position. */
export function planMetadataRoom(bounds: MetadataBounds): MetadataRoom {
  const { orderingMode, maxAhead, maxWaitingRecords } = bounds
  const span = orderingMode === 'KEY' ? waitingSpan(bounds) : 0
  // While the lowest is on its way to be written again, as many as may run can come in front of it.
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
      `${maxAhead} offsets of maxAhead${spanText}, where at most ${widestOffsetSet} are remembered; ` +
      `${neededCharacters} characters where at most ${metadataCharacters} are accepted`,
  }
}
