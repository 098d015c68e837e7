import { fromMysql2 } from '@waybill/sql'
import { createPool, type PoolConnection } from 'mysql2/promise'
import { BusyShare } from './busy-share.ts'
import type { OrderDatabase } from './order-database.ts'
import { mysqlSession } from './sql-session.ts'

/** Opens MySQL or MariaDB. */
export function openMysql(url: string, poolSize = 20): OrderDatabase<PoolConnection> {
  const pool = createPool({ uri: url, connectionLimit: poolSize, connectTimeout: 5_000, supportBigNumbers: true })
  const busy = new BusyShare(poolSize, () => performance.now())
  pool.on('acquire', busy.acquired)
  pool.on('release', busy.released)
  // A connection that breaks while it is in use is never released.
  pool.on('connection', (connection) => {
    const lost = (): void => busy.released(connection)
    connection.once('end', lost).once('error', lost)
  })
  return {
    database: fromMysql2(pool),
    within: mysqlSession,
    reads: mysqlSession(pool),
    isDuplicate: (error) =>
      ['ER_DUP_ENTRY', 'ER_DUP_KEYNAME'].includes(String((error as { code?: unknown } | null)?.code)),
    saturation: () => busy.read(),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
