import { fromPg } from '@waybill/sql'
import { Pool, type PoolClient } from 'pg'
import { BusyShare } from './busy-share.ts'
import type { OrderDatabase } from './order-database.ts'
import { pgSession } from './sql-session.ts'

/** A server that is cut off answers nothing: a request must not wait for it longer than its client does. */
const queryTimeoutMs = 10_000

/** Opens PostgreSQL. With a schema, all tables are in it. */
export function openPostgres(url: string, schema?: string, poolSize = 20): OrderDatabase<PoolClient> {
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    ...(schema === undefined ? {} : { options: `-c search_path=${schema}` }),
  })
  // An idle connection that breaks is replaced; without a listener its error would end the process.
  pool.on('error', () => {})
  const busy = new BusyShare(poolSize, () => performance.now())
  pool.on('acquire', busy.acquired)
  pool.on('release', (_, client) => busy.released(client))
  return {
    database: fromPg(pool),
    within: pgSession,
    reads: pgSession(pool),
    isDuplicate: (error) => ['23505', '42P07'].includes(String((error as { code?: unknown } | null)?.code)),
    saturation: () => busy.read(),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
