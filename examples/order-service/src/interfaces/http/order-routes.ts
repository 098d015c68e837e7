import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Caller } from '../../application/caller.ts'
import type { OrderQueryService } from '../../application/order-query-service.ts'
import type { OrderService, PlaceOrder } from '../../application/order-service.ts'
import type { OrderRecord } from '../../application/port/order-record.ts'
import type { OrderStatus } from '../../domain/order/order-status.ts'
import {
  changeStatusBody,
  errorAnswer,
  listAnswer,
  listQuery,
  orderAnswer,
  orderPath,
  pageAnswer,
  pageQuery,
  placeOrderBody,
} from './order-schemas.ts'

/** What the routes of orders call. */
export interface OrderRouteParts {
  readonly orders: OrderService
  readonly queries: OrderQueryService
}

interface ById {
  readonly Params: { readonly id: string }
}

/** A route as it is declared: Fastify checks by its schema, and the OpenAPI document shows it. */
export interface OrderRouteSchema extends FastifySchema {
  readonly summary: string
  readonly headers?: object
  readonly response: Readonly<Record<string, object>>
}

const failures = { '4xx': errorAnswer, '5xx': errorAnswer }

const schemas = {
  place: {
    summary: 'Places an order. With X-Idempotency-Key a repeat returns the first order.',
    body: placeOrderBody,
    response: { '201': orderAnswer, ...failures },
  },
  get: { summary: 'Returns an order', params: orderPath, response: { '200': orderAnswer, ...failures } },
  list: {
    summary: 'Returns the newest orders, at most as many as the service allows',
    querystring: listQuery,
    response: { '200': listAnswer, ...failures },
  },
  page: {
    summary: 'Returns a page of orders, the newest first',
    querystring: pageQuery,
    response: { '200': pageAnswer, ...failures },
  },
  changeStatus: {
    summary: 'Changes the status of an order',
    params: orderPath,
    body: changeStatusBody,
    response: { '200': orderAnswer, ...failures },
  },
  cancel: {
    summary: 'Cancels an order that is still PENDING',
    params: orderPath,
    response: { '200': orderAnswer, ...failures },
  },
} satisfies Readonly<Record<string, OrderRouteSchema>>

/** Adds the routes of orders. `callerOf` returns the caller that the request was authenticated as. */
export function addOrderRoutes(
  server: FastifyInstance,
  { orders, queries }: OrderRouteParts,
  callerOf: (request: object) => Caller,
): void {
  server.post<{ Body: PlaceOrder }>('/orders', { schema: schemas.place }, async (request, reply) => {
    const key = request.headers['x-idempotency-key']
    const { order, isReplay } = await orders.create(callerOf(request), request.body, [key].flat().join(','))
    if (isReplay) reply.header('idempotency-replayed', 'true')
    return reply.code(201).header('location', `/orders/${order.id}`).send(shown(order))
  })

  server.get<{ Querystring: { status?: OrderStatus } }>('/orders', { schema: schemas.list }, async (request) =>
    (await queries.list(callerOf(request), request.query.status)).map(shown),
  )

  server.get<{ Querystring: { page: number; size: number; status?: OrderStatus } }>(
    '/orders/page',
    { schema: schemas.page },
    async (request) => {
      const { page, size, status } = request.query
      const found = await queries.page(callerOf(request), page, size, status)
      return { ...found, items: found.items.map(shown) }
    },
  )

  server.get<ById>('/orders/:id', { schema: schemas.get }, async (request) =>
    shown(await queries.get(callerOf(request), request.params.id)),
  )

  server.patch<ById & { Body: { status: OrderStatus; version?: number } }>(
    '/orders/:id/status',
    { schema: schemas.changeStatus },
    async (request) => {
      const { status, version } = request.body
      return shown(await orders.changeStatus(callerOf(request), request.params.id, status, version))
    },
  )

  server.post<ById>('/orders/:id/cancel', { schema: schemas.cancel }, async (request) =>
    shown(await orders.cancel(callerOf(request), request.params.id)),
  )
}

/** An order as clients see it. */
function shown(order: OrderRecord) {
  const { id, status, version, ownerSubject, items, totalMinor, currency } = order
  const createdAt = new Date(order.createdAt).toISOString()
  const updatedAt = new Date(order.updatedAt).toISOString()
  return { id, status, version, ownerSubject, items, totalMinor, currency, createdAt, updatedAt }
}
