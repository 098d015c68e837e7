import type { Runtime } from '@waybill/core'
import { applies, type UpdateStamp } from '../../region/update-order.ts'
import type { OrderDatabase } from './order-database.ts'

/** The outcome of an update. */
export type RegionOutcome = 'APPLIED' | 'STALE' | 'ORDER_MISSING'

/** Stores an update in a transaction. */
export type RecordUpdate<Tx> = (tx: Tx, orderId: string, stamp: UpdateStamp) => Promise<RegionOutcome>

/**
 * Creates the view of which region updated an order last. It never changes an order. An update that is stale, or whose order
 * is not here, is counted, and its event is done all the same: repeating it would change nothing.
 */
export function createRegionView<Tx>(
  { database, within }: OrderDatabase<Tx>,
  region: string,
  { metrics }: Pick<Runtime, 'metrics'>,
): RecordUpdate<Tx> {
  const { dialect } = database
  const insertOnce = insertUnlessStored[dialect]
  // MySQL counts a row that was there before as changed, too.
  const tellsInsert = dialect !== 'mysql'
  const lock = dialect === 'sqlite' ? '' : ' FOR UPDATE' // SQLite has one writer at a time.
  return async (tx, orderId, stamp) => {
    const { query, change } = within(tx)
    const { occurredAt, version, region: from } = stamp
    const values = [occurredAt, version ?? 0, from, orderId]
    // One statement for nearly all events: each order is created once. It waits for another region that stores the same order.
    const changed = await change(insertOnce, values)
    if (tellsInsert && changed === 1) return 'APPLIED'
    const stored = `SELECT occurred_at, version, region FROM order_regions WHERE order_id = ?${lock}`
    const [row] = await query(stored, [orderId])
    if (row === undefined) {
      metrics.counter('region.order.missing.count', { region }, 1)
      return 'ORDER_MISSING'
    }
    if (!applies(stamp, stampOf(row))) {
      metrics.counter('region.conflict.rejected.count', { region }, 1)
      return 'STALE'
    }
    await change('UPDATE order_regions SET occurred_at = ?, version = ?, region = ? WHERE order_id = ?', values)
    return 'APPLIED'
  }
}

const columns = 'order_regions (occurred_at, version, region, order_id)'

/**
 * Stores the update of an order that is here and has none. On MySQL the duplicate key locks the row for writing: with IGNORE
 * several regions would share it, and then wait for each other.
 */
const insertUnlessStored = {
  postgres: `INSERT INTO ${columns} SELECT ?, ?, ?, id FROM orders WHERE id = ? ON CONFLICT (order_id) DO NOTHING`,
  mysql: `INSERT INTO ${columns} SELECT ?, ?, ?, id FROM orders WHERE id = ? ON DUPLICATE KEY UPDATE order_id = id`,
  sqlite: `INSERT INTO ${columns} SELECT ?, ?, ?, id FROM orders WHERE id = ? ON CONFLICT (order_id) DO NOTHING`,
} as const

function stampOf({ occurred_at: at, version, region }: Readonly<Record<string, unknown>>): UpdateStamp {
  return { occurredAt: at === null ? null : Number(at), version: Number(version), region: String(region) }
}
