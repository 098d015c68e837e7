/** One way to talk to three drivers. Statements have `?` for each parameter. */

import type { DatabaseSync } from 'node:sqlite'
import type { Pool as MysqlPool, PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { Pool, PoolClient } from 'pg'

export type SqlParameter = string | number | null
export type SqlRow = Readonly<Record<string, unknown>>

/** A connection, or a pool that picks one for each statement. */
export interface SqlSession {
  readonly query: (text: string, parameters?: readonly SqlParameter[]) => Promise<readonly SqlRow[]>
  /** Returns the number of changed rows. */
  readonly change: (text: string, parameters?: readonly SqlParameter[]) => Promise<number>
}

export function pgSession(client: Pool | PoolClient): SqlSession {
  const run = (text: string, parameters: readonly SqlParameter[] = []) => {
    let number = 0
    return client.query<Record<string, unknown>>(
      text.replaceAll('?', () => `$${++number}`),
      [...parameters],
    )
  }
  return {
    query: async (text, parameters) => (await run(text, parameters)).rows,
    change: async (text, parameters) => (await run(text, parameters)).rowCount ?? 0,
  }
}

/** A server that is cut off answers nothing: a request must not wait for it longer than its client does. */
const timeout = 10_000

export function mysqlSession(connection: MysqlPool | PoolConnection): SqlSession {
  return {
    async query(text, parameters = []) {
      const [rows] = await connection.query<RowDataPacket[]>({ sql: text, timeout }, [...parameters])
      return rows
    },
    async change(text, parameters = []) {
      const [result] = await connection.query<ResultSetHeader>({ sql: text, timeout }, [...parameters])
      return result.affectedRows
    },
  }
}

export function sqliteSession(handle: DatabaseSync): SqlSession {
  return {
    query: async (text, parameters = []) => handle.prepare(text).all(...parameters),
    change: async (text, parameters = []) => Number(handle.prepare(text).run(...parameters).changes),
  }
}
