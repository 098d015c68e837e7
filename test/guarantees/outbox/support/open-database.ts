import { DatabaseSync } from 'node:sqlite'
import { fromMysql2, fromPg, fromSqlite, type SqlDatabase } from '@waybill/sql'
import { createPool } from 'mysql2/promise'
import pg from 'pg'

/** The address of a database, in a form that can be passed to another process. */
export type DatabaseAddress = ServerAddress | { readonly dialect: 'sqlite'; readonly file: string }

/** A database that is reached over a connection. */
export interface ServerAddress {
  readonly dialect: 'postgres' | 'mysql'
  readonly url: string
}

/** A database in use. */
export interface OpenDatabase extends AsyncDisposable {
  readonly database: SqlDatabase<unknown>
  /** Runs a single statement. Placeholders are question marks in every dialect. */
  query(text: string, ...values: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** Enough for some writers and the outbox beside them. */
const connections = 8

/** Opens a database as an application would: with the driver's own pool and the adapter for it. */
export function openDatabase(address: DatabaseAddress): OpenDatabase {
  const { database, close } = connect(address)
  return {
    database,
    query: (text, ...values) =>
      database.connection(async (connection) => (await connection.query(inDialect(text, database), values)).rows),
    [Symbol.asyncDispose]: close,
  }
}

/** Converts a statement with question marks to the dialect. */
export function inDialect(text: string, { dialect }: Pick<SqlDatabase<unknown>, 'dialect'>): string {
  let at = 0
  return dialect === 'postgres' ? text.replaceAll('?', () => `$${++at}`) : text
}

function connect(address: DatabaseAddress): { database: SqlDatabase<unknown>; close: () => Promise<void> } {
  if (address.dialect === 'sqlite') {
    const handle = new DatabaseSync(address.file, { timeout: 10_000 })
    handle.exec('PRAGMA journal_mode = WAL')
    return { database: fromSqlite(handle), close: async () => handle.close() }
  }
  if (address.dialect === 'mysql') {
    const pool = createPool({ uri: address.url, connectionLimit: connections })
    return { database: fromMysql2(pool), close: () => pool.end() }
  }
  const pool = new pg.Pool({ connectionString: address.url, max: connections })
  // An idle connection may break, or break between the listeners of the pool and its user.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return { database: fromPg(pool), close: () => pool.end() }
}

const usualPorts = { postgres: 5432, mysql: 3306 } as const

/** Returns the target of a proxy before the database. */
export function targetOf({ dialect, url }: ServerAddress): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: port === '' ? usualPorts[dialect] : Number(port) }
}

/** Returns the address of the same database behind a proxy. */
export function throughProxy(
  address: ServerAddress,
  proxy: { readonly host: string; readonly port: number },
): ServerAddress {
  const url = new URL(address.url)
  url.hostname = proxy.host
  url.port = String(proxy.port)
  return { ...address, url: url.href }
}
