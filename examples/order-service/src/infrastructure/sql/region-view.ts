import { applies, type UpdateStamp } from '../../region/update-order.ts'
import type { SqlSession } from './sql-session.ts'

/** What became of an update of another region. */
export type RegionOutcome = 'APPLIED' | 'STALE' | 'ORDER_MISSING'

/** Stores which region updated an order last, unless a later update is known. Changes no status. */
export async function recordUpdate(
  session: SqlSession,
  orderId: string,
  stamp: UpdateStamp,
  lock: boolean,
): Promise<RegionOutcome> {
  const orders = await session.query('SELECT id FROM orders WHERE id = ?', [orderId])
  if (orders.length === 0) return 'ORDER_MISSING'
  const stored = 'SELECT occurred_at, version, region FROM order_regions WHERE order_id = ?'
  const [row] = await session.query(lock ? `${stored} FOR UPDATE` : stored, [orderId])
  const values = [stamp.occurredAt, stamp.version ?? 0, stamp.region, orderId]
  if (row === undefined) {
    await session.change(
      'INSERT INTO order_regions (occurred_at, version, region, order_id) VALUES (?, ?, ?, ?)',
      values,
    )
    return 'APPLIED'
  }
  const { occurred_at: at, version, region } = row
  const current = { occurredAt: at === null ? null : Number(at), version: Number(version), region: String(region) }
  if (!applies(stamp, current)) return 'STALE'
  await session.change('UPDATE order_regions SET occurred_at = ?, version = ?, region = ? WHERE order_id = ?', values)
  return 'APPLIED'
}
