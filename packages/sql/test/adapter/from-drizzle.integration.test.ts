import { StateError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { sql } from 'drizzle-orm'
import { drizzle as drizzleMysql2 } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { type DrizzleDatabase, fromDrizzle } from '../../src/adapter/from-drizzle.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresJsUrl } from './postgres-js-url.ts'
import { postgresWitness } from './postgres-witness.ts'
import { describeSwallowedDeadlock } from './swallowed-deadlock.ts'
import { describeTimeLimit } from './time-limit.ts'

interface DrizzleTransaction {
  execute(statement: ReturnType<typeof sql.raw>): PromiseLike<unknown>
}

function opened<Tx extends DrizzleTransaction>(db: DrizzleDatabase<Tx>, close: () => Promise<void>): OpenedLibrary<Tx> {
  return {
    database: fromDrizzle(db),
    run: async (tx, text) => tx.execute(sql.raw(text)),
    ownTransaction: (work) => db.transaction(work),
    outside: (use) => use(db as unknown as Tx),
    close,
  }
}

async function overPg(url: string) {
  const pool = new Pool({ connectionString: url, max: 5 })
  pool.on('error', () => {})
  // Drizzle leaves the errors of connections in use to the application.
  pool.on('connect', (client) => client.on('error', () => {}))
  return opened(drizzlePg(pool), () => pool.end())
}

async function overPostgresJs(url: string) {
  const { address, searchPath } = postgresJsUrl(url)
  const client = postgres(address, { max: 5, connection: { search_path: searchPath }, backoff: () => 0 })
  return { ...opened(drizzlePostgresJs(client), () => client.end({ timeout: 5 })), refusesEnds: true }
}

async function overMysql2(url: string) {
  const pool = createPool({ uri: url, connectionLimit: 5 })
  return opened(drizzleMysql2(pool), () => pool.end())
}

describeWith('postgres')('Drizzle over pg', (places) => {
  describeAdapter(postgresWitness(places.postgres), overPg)
  describeDoomedTransaction(postgresWitness(places.postgres), overPg)
  describeTimeLimit(postgresWitness(places.postgres), overPg)
})

describeWith('postgres')('Drizzle over postgres.js', (places) => {
  describeAdapter(postgresWitness(places.postgres), overPostgresJs)
  describeDoomedTransaction(postgresWitness(places.postgres), overPostgresJs)

  test('work that ends its own transaction reaches no other transaction and never waits forever', async () => {
    const { database, run, close } = await overPostgresJs(places.postgres.url)
    const ending = (end: string) =>
      database.transaction(async (tx) => {
        await run(tx, end)
        await run(tx, 'BEGIN')
      })
    const lanes = ['ROLLBACK', 'COMMIT', 'ROLLBACK', 'COMMIT'].map(async (end) => {
      for (let round = 0; round < 50; round++)
        await expect(ending(end)).rejects.toMatchObject({ cause: expect.any(StateError) })
    })
    const others = Array.from({ length: 3 }, async () => {
      for (let round = 0; round < 50; round++)
        await database.transaction(async (tx) => {
          const first = await run(tx, 'select pg_current_xact_id()')
          expect(await run(tx, 'select pg_current_xact_id()')).toEqual(first)
        })
    })
    await Promise.all([...lanes, ...others])
    await close()
  })
})

describeWith('mysql')('Drizzle over mysql2', ({ mysql }) => {
  describeAdapter(mysqlWitness(mysql), overMysql2)
  describeSwallowedDeadlock(mysql, overMysql2)
})

describe('Drizzle over something else', () => {
  test('is refused with the drivers that are known', () => {
    const db = { transaction: async () => Promise.reject(new Error('unused')), $client: {} }
    expect(() => fromDrizzle(db)).toThrow('drizzle-orm/node-postgres')
  })
})
