import { defineEvents, upcast } from '@waybill/core'
import { z } from 'zod'

const orderId = z.string().trim().min(1).max(64)

/** Version 1: one region. */
const created1 = z.object({ orderId })

/** Version 2 says which region created the order, and its version there. */
const created2 = z.object({ orderId, region: z.string().trim().min(1).max(64), version: z.number().int().min(0) })

/** The region of orders whose events tell none. */
export const unknownRegion = 'unknown'

/** The topic of the events of orders. */
export const ordersTopic = 'orders.events'

/** Returns the events of this service. The key is the order: its events keep their order. */
export function orderEvents(topic: string = ordersTopic) {
  return defineEvents({
    ORDER_CREATED: {
      topic,
      version: 2,
      schema: created2,
      key: (created: z.infer<typeof created2>) => created.orderId,
      aggregateType: 'order',
      upcasters: { 1: upcast(created1, created2, (old) => ({ ...old, region: unknownRegion, version: 0 })) },
    },
  })
}

export type OrderEvents = ReturnType<typeof orderEvents>
