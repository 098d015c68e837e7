import type { OrderFilter, OrderReader } from '../../application/port/order-store.ts'
import { orderColumns, recordOf } from './order-rows.ts'
import type { SqlParameter, SqlSession } from './sql-session.ts'
import { tellingFailures } from './store-failures.ts'

/** Creates the reads of the application. */
export function createOrderReader(session: SqlSession): OrderReader {
  const reads = tellingFailures(session)
  const first = async (condition: string, ...parameters: readonly SqlParameter[]) => {
    const [row] = await reads.query(`SELECT ${orderColumns} FROM orders WHERE ${condition}`, parameters)
    return row === undefined ? null : recordOf(row)
  }
  const select = async (filter: OrderFilter, limit: number, offset: number) => {
    const { condition, parameters } = whereOf(filter)
    const ordered = `SELECT ${orderColumns} FROM orders ${condition} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`
    return (await reads.query(ordered, [...parameters, limit, offset])).map(recordOf)
  }
  return {
    find: (id) => first('id = ?', id),
    findByKey: (owner, key) => first('owner_subject = ? AND idempotency_key = ?', owner, key),
    list: (filter, limit) => select(filter, limit, 0),
    async page(filter, page, size) {
      const { condition, parameters } = whereOf(filter)
      const counted = await reads.query(`SELECT COUNT(*) AS total FROM orders ${condition}`, parameters)
      return { items: await select(filter, size, page * size), page, size, total: Number(counted[0]?.['total']) }
    },
    async pendingIds(limit) {
      const oldest = "SELECT id FROM orders WHERE status = 'PENDING' ORDER BY created_at, id LIMIT ?"
      return (await reads.query(oldest, [limit])).map((row) => String(row['id']))
    },
  }
}

function whereOf({ ownerSubject, status }: OrderFilter): { condition: string; parameters: readonly SqlParameter[] } {
  const conditions = [
    ...(ownerSubject === undefined ? [] : [{ text: 'owner_subject = ?', value: ownerSubject }]),
    ...(status === undefined ? [] : [{ text: 'status = ?', value: status }]),
  ]
  const condition = conditions.map(({ text }) => text).join(' AND ')
  return { condition: condition === '' ? '' : `WHERE ${condition}`, parameters: conditions.map(({ value }) => value) }
}
