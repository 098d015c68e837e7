import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'

const placed = z.object({
  orderId: z.string(),
  customer: z.string(),
  cents: z.number().int(),
  /** GOOD always answers, FLAKY fails the first delivery, AWAY never answers, NONE does not exist. */
  carrier: z.enum(['GOOD', 'FLAKY', 'AWAY', 'NONE']),
})

const stocked = z.object({ item: z.string(), pieces: z.number().int() })

/** An order of the shop. */
export type Order = z.infer<typeof placed>

/** The topics of the demo. */
export const topics = { orders: 'shop.orders', invoices: 'shop.invoices', stock: 'shop.stock' } as const

/** The events that are published. */
export const shopEvents: EventCatalog<{ 'order.placed': StandardSchema & typeof placed }> = defineEvents({
  'order.placed': { topic: topics.orders, schema: placed, key: (order) => order.orderId },
})

/** The events that are written: one of them has no destination, which the outbox reports. */
export const writtenEvents: EventCatalog<{
  'order.placed': StandardSchema & typeof placed
  'stock.counted': StandardSchema & typeof stocked
}> = defineEvents({
  'order.placed': { topic: topics.orders, schema: placed, key: (order) => order.orderId },
  'stock.counted': { topic: topics.stock, schema: stocked, key: (count) => count.item },
})
