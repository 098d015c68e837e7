import { encodeEvent, runtimeWith } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { orderEvents } from '@waybill/test-support/kafka'
import { type ContextPlace, type ContextScope, RecordContext } from '../../src/handlers/delivery-context.ts'
import { fetched } from '../records/fetched.ts'

/** An `order.placed` as a consumer fetches it. */
export async function placedRecord(
  events = orderEvents(),
  change: Partial<Pick<KafkaRecord, 'topic' | 'key' | 'value'>> & { readonly header?: readonly [string, string] } = {},
): Promise<KafkaRecord> {
  const payload = { orderId: 'o-1', placedAt: '2026-01-01T00:00:00.000Z' }
  const envelope = await encodeEvent(events, 'order.placed', payload, { eventId: 'e-1', tenantId: 't-1' })
  const { header, ...bytes } = change
  const { headers, ...record } = events.wireFormat.encode(envelope)
  const all = header === undefined ? headers : headers.with(...header)
  return fetched({ topic: 'orders.events', ...record, ...bytes, headers: all }, { partition: 2, offset: 41n })
}

/** A publisher for tests in which nothing is published. */
const noPublisher: ContextScope['publisher'] = {
  publish: async () => {
    throw new Error('Nothing is published here.')
  },
}

/** A context on the source topic. */
export function contextOf(
  record: KafkaRecord,
  scope: Partial<ContextScope> = {},
  place: Partial<ContextPlace> = {},
  attempt = 1,
): RecordContext {
  const { clock, logger } = runtimeWith({})
  return RecordContext.of(
    { bindingName: 'shipping', groupId: 'shipping-group', clock, logger, publisher: noPublisher, ...scope },
    {
      kind: 'SOURCE',
      tier: 0,
      trail: { original: { topic: record.topic, partition: record.partition, offset: record.offset }, replayCount: 0 },
      handedOverAt: 0,
      consumerInstance: 'host-0',
      ...place,
    },
    record,
    attempt,
    new AbortController().signal,
    new AbortController().signal,
  )
}
