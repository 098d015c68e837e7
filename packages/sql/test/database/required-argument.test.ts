import { ArgumentError } from '@waybill/core'
import * as sql from '@waybill/sql'
import { createPool } from 'mysql2'
import { Client, Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'

type Call = (given: never, options?: never) => unknown
const { fromPrisma, migrationSql, ...functions } = sql

/** Everything that takes a database, a pool or the like as its first argument. */
const calls = Object.entries(functions)
  .filter(([name]) => /^(from|create|postgresWakeUp|migrat)/.test(name))
  .map(([name, call]) => [name, call as unknown as Call] as const)

async function refusalOf(call: () => unknown): Promise<Error> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(ArgumentError)
    return error as Error
  }
  throw new Error('It was taken.')
}

describe('what is no database, pool or the like', () => {
  test('is looked for in all functions that take one', () => {
    expect(calls.map(([name]) => name).toSorted()).toEqual([
      'createAuditLog',
      'createDeadLetterIndex',
      'createIdempotencyStore',
      'createInbox',
      'createOperationStore',
      'createOutboxStore',
      'createProjectionStore',
      'createRequestStore',
      'createSharedLog',
      'fromDrizzle',
      'fromKnex',
      'fromKysely',
      'fromMysql2',
      'fromPg',
      'fromPostgresJs',
      'fromSqlite',
      'fromTypeOrm',
      'migrate',
      'migrationStatus',
      'postgresWakeUp',
    ])
  })

  test.each(calls)('%s refuses it with what to pass instead', async (name, call) => {
    for (const given of [undefined, null, {}, 7, () => {}]) {
      const { message } = await refusalOf(() => call(given as never))
      expect(message).toMatch(new RegExp(`^${name} expects .*, got .*\\. .*(Pass|Create|Import)`))
    }
    const { message } = await refusalOf(() => call('postgres://user:secret@db/shop' as never))
    expect(message).not.toContain('secret')
  })

  test.each([
    ['createOutboxStore', sql.createOutboxStore],
    ['migrate', sql.migrate],
    ['createInbox', sql.createInbox],
  ])('%s names the adapters when it is given a pool', async (_, call) => {
    const pool = new Pool()
    onTestFinished(() => pool.end())
    const { message } = await refusalOf(() => (call as unknown as Call)(pool as never))
    expect(message).toContain('fromPg(pool)')
  })

  test('one client of pg is no pool, and a pool of mysql2 with callbacks is another', async () => {
    expect((await refusalOf(() => sql.fromPg(new Client() as never))).message).toContain('an instance of Client')
    const pool = createPool({})
    onTestFinished(() => pool.end())
    expect((await refusalOf(() => sql.fromMysql2(pool as never))).message).toContain("'mysql2/promise'")
  })

  test('fromPrisma takes two things by name', async () => {
    for (const given of [undefined, {}, { $transaction: () => {} }, { prisma: { $transaction: () => {} } }]) {
      const { message } = await refusalOf(() => fromPrisma(given as never))
      expect(message).toContain('{ prisma, background: fromPg(pool) }')
    }
  })

  test('migrationSql takes the name of a dialect, and that of a driver is none', async () => {
    expect((await refusalOf(() => migrationSql('pg' as never))).message).toContain("'postgres'")
  })
})
