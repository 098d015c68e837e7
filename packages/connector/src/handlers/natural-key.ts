import type { OriginalPlace } from '../api/handler-types.ts'

/** The original position of a record, and the number of its replay. */
export interface KeyedPlace {
  readonly original: OriginalPlace
  readonly replayCount: number
}

/**
 * Returns a key that identifies a record in every topic: its original position and the number of its replay, such as
 * `orders-3-42`, and `orders-3-42#1` for the first replay. Topic names cannot contain `#`, so keys are unique within a
 * cluster.
 */
export function naturalKeyOf({ original, replayCount }: KeyedPlace): string {
  const { topic, partition, offset } = original
  const place = `${topic}-${partition}-${offset}`
  return replayCount === 0 ? place : `${place}#${replayCount}`
}
