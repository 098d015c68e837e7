import { describeWith } from '@waybill/test-support'
import { CamelCasePlugin, Kysely, MysqlDialect, PostgresDialect, SqliteDialect, sql, type Transaction } from 'kysely'
import { createPool } from 'mysql2'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { fromKysely } from '../../src/adapter/from-kysely.ts'
import { TransactionRolledBackError } from '../../src/error/sql-errors.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'
import { describeSwallowedDeadlock } from './swallowed-deadlock.ts'

interface Tables {
  things: { id: string }
}

const overPg = async (url: string) => opened(new PostgresDialect({ pool: postgresPool(url) }))
const overMysql2 = async (url: string) =>
  opened(new MysqlDialect({ pool: createPool({ uri: url, connectionLimit: 5 }) }))

/** Kysely leaves the errors of connections in use to the application. */
function postgresPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 5 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function opened(dialect: PostgresDialect | MysqlDialect): OpenedLibrary<Transaction<Tables>> {
  // The plugin renames columns in results, which must not reach ours.
  const db = new Kysely<Tables>({ dialect, plugins: [new CamelCasePlugin()] })
  return {
    database: fromKysely(db),
    run: (tx, text) => sql.raw(text).execute(tx),
    ownTransaction: (work) => db.transaction().execute(work),
    outside: (use) => use(db as unknown as Transaction<Tables>),
    close: () => db.destroy(),
  }
}

describeWith('postgres')('Kysely over pg', ({ postgres }) => {
  describeAdapter(postgresWitness(postgres), overPg)
  describeDoomedTransaction(postgresWitness(postgres), overPg)

  test('a doomed transaction says what happened, and plugins leave our columns alone', async () => {
    const { database, run, close } = await overPg(postgres.url)
    const doomed = database.transaction((tx) => run(tx, 'select nonsense').catch(() => {}))
    await expect(doomed).rejects.toThrow(TransactionRolledBackError)
    const { rows } = await database.connection((connection) => connection.query('select 1 as two_words', []))
    expect(rows).toEqual([{ two_words: 1 }])
    await close()
  })
})

describeWith('mysql')('Kysely over mysql2', ({ mysql }) => {
  describeAdapter(mysqlWitness(mysql), overMysql2)
  describeSwallowedDeadlock(mysql, overMysql2)
})

test('fromKysely names the dialects it knows when it is given another', () => {
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: async () => Promise.reject(new Error()) }) })
  expect(() => fromKysely(db)).toThrow('PostgresDialect or MysqlDialect')
})
