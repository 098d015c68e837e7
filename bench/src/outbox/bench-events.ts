/** The events of every contestant: 1 KB of JSON, a thousand keys. */

import { createEnvelope, defineEvents, type EventCatalog, type EventEnvelope, type StandardSchema } from '@waybill/core'
import { shardOf } from '@waybill/outbox/internal'

export const eventType = 'order.placed'
export const aggregateType = 'order'
const keyCount = 1_000

const anything: StandardSchema<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'bench', validate: (value: unknown) => ({ value }) },
}

/** Creates a catalog whose events go to that topic. */
export function eventsFor(topic: string): EventCatalog<{ 'order.placed': typeof anything }> {
  return defineEvents({ [eventType]: { topic, schema: anything, key: () => 'order-1' } })
}

export const keys: readonly string[] = Array.from({ length: keyCount }, (_, at) => `order-${at}`)

/** The shard of each key, for rows that are inserted without the writer. */
export const shards: readonly number[] = keys.map((aggregateId) => shardOf({ eventId: '', aggregateType, aggregateId }))

/** 1,024 bytes, a third of which changes from key to key. */
export const payloads: readonly string[] = keys.map((key, at) => {
  const noise = Array.from({ length: 48 }, (_, part) => ((at + 1) * (part + 7) * 2_654_435_761) >>> 0)
  const digits = noise.map((number) => number.toString(16).padStart(8, '0')).join('')
  const start = `{"orderId":"${key}","customer":"customer-42","status":"pending","note":"${digits}`
  return `${start}${'all good '.repeat(100)}`.slice(0, 1_022).concat('"}')
})

let written = 0

/** Creates an event. */
export function newEvent(): EventEnvelope {
  const at = written++ % keyCount
  return createEnvelope({
    eventType,
    aggregateType,
    aggregateId: keys[at] as string,
    payloadJson: payloads[at] as string,
  })
}
