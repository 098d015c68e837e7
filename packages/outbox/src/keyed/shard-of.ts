import { bucketFor, type EventEnvelope } from '@waybill/core'
import { type EventKey, shardCount } from '../api/outbox-store.ts'

/** Returns the key that the event's order is kept by; null if it has none. */
export function keyOf({
  aggregateType,
  aggregateId,
}: Pick<EventEnvelope, 'aggregateType' | 'aggregateId'>): EventKey | null {
  return aggregateId === null ? null : { aggregateType, aggregateId }
}

/**
 * Returns a key as one string, for maps. The length prefix keeps keys from colliding, whatever characters they contain.
 */
export function keyText({ aggregateType, aggregateId }: EventKey): string {
  return `${aggregateType.length}:${aggregateType}${aggregateId}`
}

/**
 * Returns the shard an event is stored in. All events of a key are in one shard, since one node reads a shard in order.
 * Events without a key have no order and are spread by their ids.
 *
 * Rows store it, so like the bucket it must never change. 64 divides the 4096 buckets: a shard is a slice of them.
 */
export function shardOf(event: Pick<EventEnvelope, 'eventId' | 'aggregateType' | 'aggregateId'>): number {
  const key = keyOf(event)
  return bucketFor(key === null ? event.eventId : keyText(key)) % shardCount
}
