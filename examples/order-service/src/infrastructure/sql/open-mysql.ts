import { fromMysql2 } from '@waybill/sql'
import { createPool, type PoolConnection } from 'mysql2/promise'
import type { OrderDatabase } from './order-database.ts'
import { mysqlSession } from './sql-session.ts'

/** Opens MySQL or MariaDB. */
export function openMysql(url: string, poolSize = 20): OrderDatabase<PoolConnection> {
  const pool = createPool({ uri: url, connectionLimit: poolSize, connectTimeout: 5_000, supportBigNumbers: true })
  let busy = 0
  pool.on('acquire', () => busy++)
  pool.on('release', () => busy--)
  return {
    database: fromMysql2(pool),
    within: mysqlSession,
    reads: mysqlSession(pool),
    isDuplicate: (error) =>
      ['ER_DUP_ENTRY', 'ER_DUP_KEYNAME'].includes(String((error as { code?: unknown } | null)?.code)),
    saturation: () => Math.min(1, Math.max(0, busy) / poolSize),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
