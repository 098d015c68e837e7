import { DatabaseSync } from 'node:sqlite'
import { fromSqlite } from '@waybill/sql'
import type { ShopStore } from './shop-store.ts'

/** The shop's tables in a SQLite file. Several processes may open it: one writes at a time, the others wait. */
export function openSqliteStore(file: string): ShopStore<DatabaseSync> {
  const sqlite = new DatabaseSync(file, { timeout: 10_000 })
  sqlite.exec('PRAGMA journal_mode = WAL')
  const count = (from: string): number => (sqlite.prepare(`SELECT count(*) AS n FROM ${from}`).get() as { n: number }).n
  const ids = (text: string): string[] =>
    sqlite
      .prepare(text)
      .all()
      .map((row) => String(row['order_id']))

  return {
    database: fromSqlite(sqlite),
    async createTables() {
      sqlite.exec('CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY)')
      // No primary key: a second shipment of an order must be visible, not prevented.
      sqlite.exec('CREATE TABLE IF NOT EXISTS shipments (order_id TEXT NOT NULL)')
    },
    async addOrder(tx, orderId) {
      tx.prepare('INSERT INTO orders (order_id) VALUES (?)').run(orderId)
    },
    async addShipment(tx, orderId) {
      tx.prepare('INSERT INTO shipments (order_id) VALUES (?)').run(orderId)
    },
    counts: async () => ({
      orders: count('orders'),
      shipments: count('shipments'),
      unpublished: count('outbox_event WHERE status IN (0, 2)'),
    }),
    orderIds: async () => ids('SELECT order_id FROM orders'),
    shipmentIds: async () => ids('SELECT order_id FROM shipments'),
    async [Symbol.asyncDispose]() {
      sqlite.close()
    },
  }
}
