import { Buffer } from 'node:buffer'

/**
 * A record of the source, as the waiting topic knows it. The offset alone would not do: a topic that is deleted and
 * created again repeats its offsets.
 */
export interface Original {
  readonly offset: bigint
  readonly timestamp: number
  readonly key: Buffer | null
}

/** The same text for the same original, and for no other. */
export function originalId({ offset, timestamp, key }: Original): string {
  return key === null ? `${offset}:${timestamp}` : `${offset}:${timestamp}:${key.toString('latin1')}`
}

/** The same text for records whose order counts. One without a key has no order with any other. */
export function laneOf({ offset, timestamp, key }: Original): string {
  return key === null ? `-${offset}:${timestamp}` : `+${key.toString('latin1')}`
}

/** The key of a lane's records. */
export function keyOf(lane: string): Buffer | null {
  return lane.startsWith('+') ? Buffer.from(lane.slice(1), 'latin1') : null
}

/** The order within a chain. */
export function compareOriginals(left: Original, right: Original): number {
  if (left.offset !== right.offset) return left.offset < right.offset ? -1 : 1
  return left.timestamp - right.timestamp
}
