import { bucketFor, type EventEnvelope } from '@waybill/core'
import { type EventKey, shardCount } from '../api/outbox-store.ts'

/** What the order of an event is kept by; null for one that has none. */
export function keyOf({
  aggregateType,
  aggregateId,
}: Pick<EventEnvelope, 'aggregateType' | 'aggregateId'>): EventKey | null {
  return aggregateId === null ? null : { aggregateType, aggregateId }
}

/** A key as one text, for maps. Lengths first: no two keys run together, whatever signs their texts hold. */
export function keyText({ aggregateType, aggregateId }: EventKey): string {
  return `${aggregateType.length}:${aggregateType}${aggregateId}`
}

/**
 * The shard an event is stored in: all of a key lie in one, since a shard is what one node reads in order. Events without
 * a key have no order, and their ids spread them.
 *
 * Rows remember it, so like the bucket it is the same for ever. 64 divides the 4096 buckets: a shard is a slice of them.
 */
export function shardOf(event: Pick<EventEnvelope, 'eventId' | 'aggregateType' | 'aggregateId'>): number {
  const key = keyOf(event)
  return bucketFor(key === null ? event.eventId : keyText(key)) % shardCount
}
