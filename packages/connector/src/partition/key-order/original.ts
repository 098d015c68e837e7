import { Buffer } from 'node:buffer'

/**
 * The identity of a source record in the waiting topic. The offset alone is not enough: a topic that is deleted and
 * created again repeats its offsets.
 */
export interface Original {
  readonly offset: bigint
  readonly timestamp: number
  readonly key: Buffer | null
}

/** Returns a text that is unique to an original. */
export function originalId({ offset, timestamp, key }: Original): string {
  return key === null ? `${offset}:${timestamp}` : `${offset}:${timestamp}:${key.toString('latin1')}`
}

/** Returns the same text for records whose order matters. A record without a key has no order with any other. */
export function laneOf({ offset, timestamp, key }: Original): string {
  return key === null ? `-${offset}:${timestamp}` : laneOfKey(key)
}

/** Returns the lane of the records of a key. */
export function laneOfKey(key: Buffer): string {
  return `+${key.toString('latin1')}`
}

/** Returns the key of a lane's records. */
export function keyOf(lane: string): Buffer | null {
  return lane.startsWith('+') ? Buffer.from(lane.slice(1), 'latin1') : null
}

/** Compares originals by their order within a chain. */
export function compareOriginals(left: Original, right: Original): number {
  if (left.offset !== right.offset) return left.offset < right.offset ? -1 : 1
  return left.timestamp - right.timestamp
}
