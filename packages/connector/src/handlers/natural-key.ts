import type { OriginalPlace } from '../api/handler-types.ts'

/** Where a record lay first, and how often it was replayed since. */
export interface KeyedPlace {
  readonly original: OriginalPlace
  readonly replayCount: number
}

/**
 * What a record is known by wherever it lies (S0-201, C-18): where it lay first, and which replay of it this is.
 * `orders-3-42`, and `orders-3-42#1` for its first replay: no topic can have the sign in its name, so that no two records
 * of a cluster share a key.
 */
export function naturalKeyOf({ original, replayCount }: KeyedPlace): string {
  const { topic, partition, offset } = original
  const place = `${topic}-${partition}-${offset}`
  return replayCount === 0 ? place : `${place}#${replayCount}`
}
