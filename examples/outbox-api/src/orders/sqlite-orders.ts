import { DatabaseSync } from 'node:sqlite'
import { fromSqlite } from '@waybill/sql'
import { createOrders, type OrderRow, type OrderTable, orderOf } from './order-table.ts'

const columns = 'order_id, total, event_id'

/** Orders in a SQLite file. */
export function openSqliteOrders(file: string): OrderTable<DatabaseSync> {
  const open = (): DatabaseSync => {
    const handle = new DatabaseSync(file, { timeout: 5_000 })
    handle.exec('PRAGMA journal_mode = WAL')
    return handle
  }
  const writing = open()
  // A read on the writing handle would be part of a transaction that is open there.
  const reading = open()
  return {
    database: fromSqlite(writing),
    async create() {
      writing.exec(createOrders)
    },
    async add(tx, { orderId, total, eventId }) {
      tx.prepare(`INSERT INTO orders (${columns}) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`).run(orderId, total, eventId)
      const row = tx.prepare(`SELECT ${columns} FROM orders WHERE order_id = ?`).get(orderId)
      return orderOf(row as unknown as OrderRow)
    },
    async newest(limit) {
      const rows = reading.prepare(`SELECT ${columns} FROM orders ORDER BY event_id DESC LIMIT ?`).all(limit)
      return rows.map((row) => orderOf(row as unknown as OrderRow))
    },
    async [Symbol.asyncDispose]() {
      reading.close()
      writing.close()
    },
  }
}
