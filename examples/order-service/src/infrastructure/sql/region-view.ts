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
  const lock = database.dialect === 'sqlite' ? '' : ' FOR UPDATE' // SQLite has one writer at a time.
  return async (tx, orderId, stamp) => {
    const { query, change } = within(tx)
    if ((await query('SELECT id FROM orders WHERE id = ?', [orderId])).length === 0) {
      metrics.counter('region.order.missing.count', { region }, 1)
      return 'ORDER_MISSING'
    }
    const stored = `SELECT occurred_at, version, region FROM order_regions WHERE order_id = ?${lock}`
    const [row] = await query(stored, [orderId])
    if (!applies(stamp, row === undefined ? null : stampOf(row))) {
      metrics.counter('region.conflict.rejected.count', { region }, 1)
      return 'STALE'
    }
    const statement =
      row === undefined
        ? 'INSERT INTO order_regions (occurred_at, version, region, order_id) VALUES (?, ?, ?, ?)'
        : 'UPDATE order_regions SET occurred_at = ?, version = ?, region = ? WHERE order_id = ?'
    await change(statement, [stamp.occurredAt, stamp.version ?? 0, stamp.region, orderId])
    return 'APPLIED'
  }
}

function stampOf({ occurred_at: at, version, region }: Readonly<Record<string, unknown>>): UpdateStamp {
  return { occurredAt: at === null ? null : Number(at), version: Number(version), region: String(region) }
}
