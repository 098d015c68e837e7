import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'

const order = z.object({ orderId: z.string() })
type OrderSchema = StandardSchema & typeof order

/** Events of the orders database. */
export const orderEvents: EventCatalog<{ 'order.placed': OrderSchema }> = defineEvents({
  'order.placed': { topic: 'orders.events', schema: order, key: ({ orderId }) => orderId },
})

/** Events of the billing database. */
export const billingEvents: EventCatalog<{ 'invoice.issued': OrderSchema }> = defineEvents({
  'invoice.issued': { topic: 'billing.events', schema: order, key: ({ orderId }) => orderId },
})
