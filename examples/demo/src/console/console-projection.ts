import { defineProjection } from '@waybill/projection'
import { z } from 'zod'
import { shopEvents } from './console-events.ts'

/** A read model of the demo: one row for each order. */
export const openOrders = defineProjection({
  name: 'open_orders',
  events: shopEvents,
  state: z.object({ customer: z.string(), cents: z.number().int() }),
  columns: { customer: 'text', cents: 'integer' },
  keyColumn: 'order_id',
}).on({
  'order.placed': (_, { payload: { customer, cents } }) => ({ customer, cents }),
})
