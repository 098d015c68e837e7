import type { EventEnvelope, JsonCodec } from '@waybill/core'
import { checkStorable, shardOf } from '@waybill/outbox/internal'

/** The columns of a new row that come from its event. */
export interface StorableEvent {
  readonly eventId: string
  readonly eventType: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly payload: string
  readonly headers: string | null
  readonly occurredAt: number
  readonly shard: number
}

/** @throws an ArgumentError for an event that does not fit a row; nothing was sent */
export function toStorable(event: EventEnvelope, codec: JsonCodec): StorableEvent {
  const headers = codec.toJson(new Map(Object.entries(event.headers)))
  checkStorable(event, headers)
  return {
    eventId: event.eventId,
    eventType: event.eventType,
    aggregateType: event.aggregateType,
    aggregateId: event.aggregateId,
    tenantId: event.tenantId,
    payload: event.payloadJson,
    headers,
    occurredAt: event.occurredAt,
    shard: shardOf(event),
  }
}
