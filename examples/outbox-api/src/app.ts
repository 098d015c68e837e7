/** The HTTP routes. They open and close no resources. */

import { createUlidGenerator, systemRuntime, UnknownCommitError } from '@waybill/core'
import { EventDeadError, type Outbox, PublishedUnknownError } from '@waybill/outbox'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Events } from './events.ts'
import type { Order, OrderTable } from './orders/order-table.ts'

export interface AppParts<Tx> {
  readonly orders: OrderTable<Tx>
  readonly outbox: Outbox<Events, Tx>
  /** How long a request with `?wait=published` waits. @defaultValue 2000 */
  readonly publishDeadlineMs?: number
}

interface PlaceOrder {
  readonly Body: { readonly orderId: string; readonly total: number }
  readonly Querystring: { readonly wait?: 'published' }
}

const placeOrderSchema = {
  body: {
    type: 'object',
    required: ['orderId', 'total'],
    additionalProperties: false,
    properties: { orderId: { type: 'string', minLength: 1, maxLength: 64 }, total: { type: 'integer', minimum: 0 } },
  },
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: { wait: { type: 'string', enum: ['published'] } },
  },
} as const

/** Creates the application. */
export function createApp<Tx>({ orders, outbox, publishDeadlineMs = 2_000 }: AppParts<Tx>): FastifyInstance {
  const app = fastify()
  const nextId = createUlidGenerator(systemRuntime)

  /** Writes the order and its event, both or neither. An existing order gets no second event. */
  function place(wanted: PlaceOrder['Body'], eventId: string): Promise<Order> {
    return orders.database.transaction(async (tx) => {
      const order = await orders.add(tx, { ...wanted, eventId })
      if (order.eventId === eventId) await outbox.write(tx, 'order.placed', wanted, { eventId })
      return order
    })
  }

  app.post<PlaceOrder>('/orders', { schema: placeOrderSchema }, async ({ body, query }, reply) => {
    const eventId = nextId()
    const order = await place(body, eventId)
    if (order.total !== body.total)
      return reply.code(409).send({ error: `${order.orderId} was placed with another total.`, order })
    const created = order.eventId === eventId ? 201 : 200
    if (query.wait === undefined) return reply.code(created).send({ order, event: 'COMMITTED' })
    return answerWhenPublished(reply, order, created)
  })

  async function answerWhenPublished(reply: FastifyReply, order: Order, created: number): Promise<FastifyReply> {
    try {
      await outbox.published(order.eventId, { deadlineMs: publishDeadlineMs })
      return await reply.code(created).send({ order, event: 'PUBLISHED' })
    } catch (error) {
      // The order is committed in both cases. Here Kafka does not answer yet, and the outbox keeps trying.
      if (error instanceof PublishedUnknownError) return reply.code(202).send({ order, event: 'ON_ITS_WAY' })
      // The event is DEAD until an operator replays it.
      if (error instanceof EventDeadError) return reply.code(502).send({ order, event: 'DEAD' })
      throw error
    }
  }

  app.get('/orders', async () => ({ orders: await orders.newest(50) }))

  app.get('/health/live', async () => ({ status: 'UP' }))

  // Without Kafka this service still accepts orders: their events wait in the table, and health says how many.
  app.get('/health/ready', async (_request, reply) => reply.code(outbox.ready() ? 200 : 503).send(outbox.health()))

  app.setErrorHandler((error, _request, reply) => {
    // The outcome is unknown. Repeating the request is safe, because the caller chose its id.
    if (error instanceof UnknownCommitError) return reply.code(503).header('retry-after', '1').send({ error: 'REPEAT' })
    return reply.send(error)
  })
  return app
}
