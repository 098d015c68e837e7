import pg from 'pg'

/** Sessions for two statements that finish rows, one that claims, and one that renews leases. */
const sessions = 4

/** Opens all sessions of a pool, so that their processes are known before counting starts. */
export async function openPostgres(url: string): Promise<{ readonly pool: pg.Pool; readonly pids: readonly number[] }> {
  const pool = new pg.Pool({ connectionString: url, max: sessions, idleTimeoutMillis: 0 })
  const clients = await Promise.all(Array.from({ length: sessions }, () => pool.connect()))
  const answers = await Promise.all(clients.map((client) => client.query('SELECT pg_backend_pid() AS pid')))
  for (const client of clients) client.release()
  return { pool, pids: answers.map(({ rows }) => Number(rows[0]?.['pid'])) }
}
