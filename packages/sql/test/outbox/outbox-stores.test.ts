import { DatabaseSync } from 'node:sqlite'
import { ArgumentError } from '@waybill/core'
import type { OutboxStore } from '@waybill/outbox'
import { fromPg, fromSqlite, OutboxStores } from '@waybill/sql'
import { describe, expect, test } from 'vitest'

/** The dialect of a store, by the text of a statement. */
async function dialectOf(store: OutboxStore): Promise<string> {
  let text = ''
  const connection = {
    query: async (statement: string) => {
      text = statement
      return { rows: [], changed: 0 }
    },
  }
  await store.backlog(connection, { countUpTo: 1 })
  if (text.includes('FORCE INDEX')) return 'mysql'
  return text.includes('INDEXED BY') ? 'sqlite' : 'postgres'
}

const fn = (): void => {}

describe('the store is detected', () => {
  test.each([
    ['postgres://localhost/shop', 'postgres'],
    ['postgresql://user:secret@localhost/shop', 'postgres'],
    ['mysql://localhost/shop', 'mysql'],
    ['mariadb://localhost/shop', 'mysql'],
    ['MYSQL2://localhost/shop', 'mysql'],
    ['sqlite:orders.db', 'sqlite'],
    ['file:orders.db', 'sqlite'],
    [':memory:', 'sqlite'],
  ])('from the connection string %s', async (url, dialect) => {
    expect(await dialectOf(OutboxStores.detect(url))).toBe(dialect)
  })

  test.each<[string, unknown, string]>([
    ['a pool of pg', { connect: fn, query: fn, on: fn }, 'postgres'],
    ['postgres.js', Object.assign(() => {}, { unsafe: fn, begin: fn, reserve: fn }), 'postgres'],
    ['a pool of mysql2', { getConnection: fn, query: fn, execute: fn }, 'mysql'],
    ['a connection of mysql2', { connect: fn, query: fn, beginTransaction: fn, prepare: fn }, 'mysql'],
    [
      'Kysely on PostgreSQL',
      { getExecutor: () => ({ adapter: { supportsReturning: true, supportsTransactionalDdl: true } }) },
      'postgres',
    ],
    ['Kysely on MySQL', { getExecutor: () => ({ adapter: {} }) }, 'mysql'],
    ['Drizzle over a pool of mysql2', { $client: { getConnection: fn, query: fn } }, 'mysql'],
    ['Prisma', { $transaction: fn, $queryRawUnsafe: fn }, 'postgres'],
    ['TypeORM on MariaDB', { options: { type: 'mariadb' }, createQueryRunner: fn }, 'mysql'],
    ['Knex on PostgreSQL', Object.assign(() => {}, { client: { dialect: 'postgresql' } }), 'postgres'],
    ['a database of node:sqlite', new DatabaseSync(':memory:'), 'sqlite'],
    ['a database of this package', fromSqlite(new DatabaseSync(':memory:')), 'sqlite'],
    ['an adapter of a pool', fromPg({ connect: fn, query: fn, on: fn } as never), 'postgres'],
  ])('from %s', async (_, client, dialect) => {
    expect(await dialectOf(OutboxStores.detect(client))).toBe(dialect)
  })

  test.each([
    ['postgres', 'postgres'],
    ['mariadb', 'mysql'],
    ['sqlite', 'sqlite'],
  ])('by its name %s', async (name, dialect) => {
    expect(await dialectOf(OutboxStores.get(name))).toBe(dialect)
  })

  test('with a table and a codec of its own', async () => {
    const codec = { toJson: () => null, parseObject: () => new Map<string, string>() }
    const store = OutboxStores.detect('postgres://localhost', { table: 'billing.outbox', codec })
    let text = ''
    const connection = {
      query: async (statement: string) => {
        text = statement
        return { rows: [], changed: 0 }
      },
    }
    await store.backlog(connection, { countUpTo: 1 })
    expect(text).toContain('"billing"."outbox"')
  })
})

test('an unknown connection string is refused with the known beginnings, and without its password', () => {
  let refused: unknown
  try {
    OutboxStores.detect('oracle://scott:tiger@localhost')
  } catch (error) {
    refused = error
  }
  expect(refused).toBeInstanceOf(ArgumentError)
  expect(String(refused)).not.toContain('tiger')
  expect((refused as ArgumentError).hint).toContain('postgres:, postgresql:, mysql:, mysql2:, mariadb:, sqlite:, file:')
})

test.each([undefined, null, 42, {}, { query: () => {} }])('an unknown client is refused: %s', (client) => {
  expect(() => OutboxStores.detect(client)).toThrow(ArgumentError)
  expect(() => OutboxStores.get('oracle')).toThrow(ArgumentError)
})
