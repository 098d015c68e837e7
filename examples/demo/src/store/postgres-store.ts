import { fromPg } from '@waybill/sql'
import { Pool, type PoolClient } from 'pg'
import type { ShopStore } from './shop-store.ts'

/** The shop's tables in a PostgreSQL schema of their own. */
export function openPostgresStore(url: string, schema: string): ShopStore<PoolClient> {
  const pool = new Pool({ connectionString: url, options: `-c search_path=${schema}` })
  const count = async (from: string): Promise<number> =>
    Number((await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${from}`)).rows[0]?.n)
  const ids = async (text: string): Promise<string[]> =>
    (await pool.query<{ order_id: string }>(text)).rows.map((row) => row.order_id)

  return {
    database: fromPg(pool),
    async createTables() {
      await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
      await pool.query('CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY)')
      // No primary key: a second shipment of an order must be visible, not prevented.
      await pool.query('CREATE TABLE IF NOT EXISTS shipments (order_id TEXT NOT NULL)')
    },
    async addOrder(tx, orderId) {
      await tx.query('INSERT INTO orders (order_id) VALUES ($1)', [orderId])
    },
    async addShipment(tx, orderId) {
      await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [orderId])
    },
    counts: async () => ({
      orders: await count('orders'),
      shipments: await count('shipments'),
      unpublished: await count('outbox_event WHERE status IN (0, 2)'),
    }),
    orderIds: () => ids('SELECT order_id FROM orders'),
    shipmentIds: () => ids('SELECT order_id FROM shipments'),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
