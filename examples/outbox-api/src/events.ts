import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'

const placed = z.object({ orderId: z.string(), total: z.number().int() })

export interface Events {
  readonly 'order.placed': StandardSchema & typeof placed
  readonly [name: string]: StandardSchema
}

/** The events of this service. */
export const events: EventCatalog<Events> = defineEvents({
  'order.placed': { topic: 'orders.events', schema: placed, key: (order) => order.orderId },
})
