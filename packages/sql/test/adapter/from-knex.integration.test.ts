import { describeWith } from '@waybill/test-support'
import knex, { type Knex } from 'knex'
import { expect, test } from 'vitest'
import { fromKnex } from '../../src/adapter/from-knex.ts'
import { TransactionRolledBackError } from '../../src/error/sql-errors.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'
import { describeSwallowedDeadlock } from './swallowed-deadlock.ts'
import { describeTimeLimit } from './time-limit.ts'

const pool = { min: 0, max: 5 }
const log = { warn: () => {} }
const overPg = async (url: string) => opened(knex({ client: 'pg', connection: { connectionString: url }, pool, log }))
const overMysql2 = async (url: string) => opened(knex({ client: 'mysql2', connection: url, pool, log }))

function opened(instance: Knex): OpenedLibrary<Knex.Transaction> {
  return {
    database: fromKnex(instance),
    run: async (tx, text) => tx.raw(text),
    ownTransaction: (work) => instance.transaction(work),
    outside: (use) => use(instance as unknown as Knex.Transaction),
    close: () => instance.destroy(),
  }
}

describeWith('postgres')('Knex over pg', ({ postgres }) => {
  describeAdapter(postgresWitness(postgres), overPg)
  describeDoomedTransaction(postgresWitness(postgres), overPg)
  describeTimeLimit(postgresWitness(postgres), overPg)

  test('a doomed transaction says what happened', async () => {
    const { database, run, close } = await overPg(postgres.url)
    const doomed = database.transaction((tx) => run(tx, 'select nonsense').catch(() => {}))
    await expect(doomed).rejects.toThrow(TransactionRolledBackError)
    await close()
  })
})

describeWith('mysql')('Knex over mysql2', ({ mysql }) => {
  describeAdapter(mysqlWitness(mysql), overMysql2)
  describeSwallowedDeadlock(mysql, overMysql2)
})

test('fromKnex names the clients it knows when it is given another', () => {
  const client = { dialect: 'oracle', acquireConnection: async () => null, releaseConnection: async () => null }
  expect(() => fromKnex({ client, transaction: async () => Promise.reject(new Error('unused')) })).toThrow(
    'pg or mysql2',
  )
})
