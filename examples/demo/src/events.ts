import { defineEvents, type EventCatalog, type StandardSchema } from '@waybill/core'
import { z } from 'zod'

const placed = z.object({
  orderId: z.string(),
  /** GOOD always answers, FLAKY fails an order's first delivery, AWAY answers once it is back, NONE does not exist. */
  carrier: z.enum(['GOOD', 'FLAKY', 'AWAY', 'NONE']),
})

export type Carrier = z.infer<typeof placed>['carrier']

/** The events of the shop, in a topic of this run. */
export function shopEvents(topic: string): EventCatalog<{ 'order.placed': StandardSchema & typeof placed }> {
  return defineEvents({ 'order.placed': { topic, schema: placed, key: (order) => order.orderId } })
}
