import type { SqlDatabase } from '@waybill/sql'

export interface Order {
  readonly orderId: string
  readonly total: number
  /** The event of the order: a repeated request waits for the same one. */
  readonly eventId: string
}

/** The service's own table. `Tx` is the driver's handle: an order and its event are written through the same one. */
export interface OrderTable<Tx> extends AsyncDisposable {
  readonly database: SqlDatabase<Tx>
  create(): Promise<void>
  /** Adds an order, unless one with this id exists. @returns the order in the table */
  add(tx: Tx, order: Order): Promise<Order>
  newest(limit: number): Promise<readonly Order[]>
}

export const createOrders =
  'CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, total INTEGER NOT NULL, event_id TEXT NOT NULL)'

/** A row as both drivers return it. */
export interface OrderRow {
  readonly order_id: string
  readonly total: number
  readonly event_id: string
}

export function orderOf({ order_id: orderId, total, event_id: eventId }: OrderRow): Order {
  return { orderId, total, eventId }
}
