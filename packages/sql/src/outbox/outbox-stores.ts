/** Finds the outbox store that fits a client, without a connection to the database. */

import { ArgumentError } from '@waybill/core'
import { hasMethods, showValue } from '@waybill/core/option'
import type { OutboxStore } from '@waybill/outbox'
import { type KyselyAdapter, kyselyDialect } from '../adapter/from-kysely.ts'
import { requireDialect } from '../database/required-argument.ts'
import type { SqlDialect } from '../database/sql-database.ts'
import { createOutboxStore, type OutboxStoreOptions } from './create-outbox-store.ts'

/** The beginnings of connection strings. The longest match decides. */
const prefixes: Readonly<Record<string, SqlDialect>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mysql2:': 'mysql',
  'mariadb:': 'mysql',
  'sqlite:': 'sqlite',
  'file:': 'sqlite',
  ':memory:': 'sqlite',
}

/** The names that ORMs and operators use for a dialect. */
const names: Readonly<Record<string, SqlDialect>> = {
  postgres: 'postgres',
  postgresql: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  sqlite: 'sqlite',
}

function detect(source: unknown, options: OutboxStoreOptions = {}): OutboxStore {
  const dialect = typeof source === 'string' ? dialectOfUrl(source) : dialectOfClient(source)
  return createOutboxStore({ dialect }, options)
}

function get(name: string, options: OutboxStoreOptions = {}): OutboxStore {
  const dialect = names[name] as SqlDialect
  requireDialect('OutboxStores.get', dialect)
  return createOutboxStore({ dialect }, options)
}

function dialectOfUrl(url: string): SqlDialect {
  const [longest] = Object.keys(prefixes)
    .filter((prefix) => url.toLowerCase().startsWith(prefix))
    .toSorted((one, other) => other.length - one.length)
  const dialect = longest === undefined ? undefined : prefixes[longest]
  if (dialect !== undefined) return dialect
  // The URL may contain a password.
  throw new ArgumentError('OutboxStores.detect does not know this connection string.', {
    hint: `It must begin with one of ${Object.keys(prefixes).join(', ')}.`,
  })
}

/** A client as detection sees it: any of these may be there. */
interface AnyClient {
  readonly dialect?: unknown
  readonly client?: { readonly dialect?: unknown } | null
  readonly $client?: unknown
  readonly options?: { readonly type?: unknown } | null
}

/** Detects by capabilities: class names do not survive a bundler. Wrappers come before the drivers they resemble. */
function dialectOfClient(source: unknown): SqlDialect {
  const client = Object(source) as AnyClient
  const named = [client.dialect, client.client?.dialect, client.options?.type].find(isName)
  if (named !== undefined) return names[named] as SqlDialect
  if (client.$client !== undefined) return dialectOfClient(client.$client)
  if (hasMethods(source, 'getExecutor'))
    return kyselyDialect((source as { getExecutor(): { readonly adapter: KyselyAdapter } }).getExecutor().adapter)
  // fromPrisma supports PostgreSQL alone.
  if (hasMethods(source, '$transaction') || hasMethods(source, 'unsafe', 'begin')) return 'postgres'
  if (hasMethods(source, 'getConnection') || hasMethods(source, 'query', 'beginTransaction')) return 'mysql'
  if (hasMethods(source, 'query', 'connect')) return 'postgres'
  if (hasMethods(source, 'prepare', 'exec')) return 'sqlite'
  throw new ArgumentError(`OutboxStores.detect does not know this client: ${showValue(source)}.`, {
    hint:
      'Pass a pool of pg or mysql2, a postgres.js client, a database of node:sqlite, an instance of Kysely, Drizzle, Prisma, ' +
      'TypeORM or Knex, a database of @waybill/sql, or a connection string.',
  })
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && Object.hasOwn(names, value)
}

/**
 * Finds the store of an outbox table by the client or the connection string of its database.
 *
 * - `detect(source, options)`: by a driver's pool, an ORM, a database of @waybill/sql, or a connection string. Does no IO.
 * - `get(name, options)`: by the name of the dialect.
 */
export const OutboxStores: { readonly detect: typeof detect; readonly get: typeof get } = Object.freeze({ detect, get })
