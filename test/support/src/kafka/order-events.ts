import { defineEvents } from '@waybill/core'
import { type WireFormatName } from '@waybill/core/internal'
import { z } from 'zod'

/** Returns a catalog with an event whose schema transforms its payload. */
export function orderEvents(wireFormat: WireFormatName = 'JSON') {
  return defineEvents(
    {
      'order.placed': {
        topic: 'orders.events',
        schema: z.object({ orderId: z.string(), placedAt: z.string().transform((text) => new Date(text)) }),
        key: (order) => order.orderId,
      },
      'order.cancelled': {
        topic: 'orders.events',
        schema: z.object({ orderId: z.string() }),
        key: (order) => order.orderId,
        version: 3,
      },
    },
    { wireFormat },
  )
}
