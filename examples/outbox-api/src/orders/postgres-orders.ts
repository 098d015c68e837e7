import { fromPg } from '@waybill/sql'
import { Pool, type PoolClient } from 'pg'
import { createOrders, type OrderRow, type OrderTable, orderOf } from './order-table.ts'

const columns = 'order_id, total, event_id'

/** Orders in a PostgreSQL database. */
export function openPostgresOrders(url: string): OrderTable<PoolClient> {
  const pool = new Pool({ connectionString: url })
  // An idle connection that breaks is replaced; without a listener its error would end the process.
  pool.on('error', () => {})
  return {
    database: fromPg(pool),
    async create() {
      await pool.query(createOrders)
    },
    async add(tx, order) {
      const values = [order.orderId, order.total, order.eventId]
      await tx.query(`INSERT INTO orders (${columns}) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, values)
      const { rows } = await tx.query<OrderRow>(`SELECT ${columns} FROM orders WHERE order_id = $1`, [order.orderId])
      return rows.map(orderOf).at(0) ?? order
    },
    async newest(limit) {
      const text = `SELECT ${columns} FROM orders ORDER BY event_id DESC LIMIT $1`
      return (await pool.query<OrderRow>(text, [limit])).rows.map(orderOf)
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
