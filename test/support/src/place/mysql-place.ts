import { type Connection, createConnection, createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import type { Place, PlaceKind } from './place.ts'

/** A database on MySQL or MariaDB that belongs to one group of tests. */
export interface MysqlPlace extends Place {
  readonly database: string
  /** The address of this database, for clients that a test opens. */
  readonly url: string
  /** Up to ten connections. */
  readonly pool: Pool
}

/** Databases as places. */
export const mysqlPlaces: PlaceKind<MysqlPlace> = {
  create(url, database) {
    const own = new URL(url)
    own.pathname = `/${database}`
    const pool = createPool({ uri: own.href })
    return {
      database,
      url: own.href,
      pool,
      open: () =>
        withConnection(url, async (connection) => void (await connection.query(`create database \`${database}\``))),
      async close() {
        await withConnection(url, async (connection) => {
          await endSessions(connection, database)
          await connection.query(`drop database if exists \`${database}\``)
        })
        await pool.end().catch(() => {}) // Its connections were ended above.
      },
    }
  },
  sweep: (url, isStale) =>
    withConnection(url, async (connection) => {
      const [rows] = await connection.query<({ name: string } & RowDataPacket)[]>(
        'select schema_name as name from information_schema.schemata',
      )
      for (const { name } of rows.filter((row) => isStale(row.name)))
        await connection.query(`drop database if exists \`${name}\``)
    }),
}

/** Kills the sessions of a database. A test that failed inside a transaction holds locks that would block the drop. */
async function endSessions(connection: Connection, database: string): Promise<void> {
  const [sessions] = await connection.query<({ id: number } & RowDataPacket)[]>(
    'select id from information_schema.processlist where db = ?',
    [database],
  )
  for (const { id } of sessions) await connection.query('kill ?', [id]).catch(() => {}) // It may just have ended.
}

async function withConnection(url: string, work: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await createConnection({ uri: url })
  try {
    await work(connection)
  } finally {
    await connection.end()
  }
}
