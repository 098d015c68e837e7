import { describeWith } from '@waybill/test-support'
import { DataSource, type EntityManager } from 'typeorm'
import { expect, test } from 'vitest'
import { fromTypeOrm } from '../../src/adapter/from-typeorm.ts'
import { TransactionRolledBackError } from '../../src/error/sql-errors.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'
import { describeSwallowedDeadlock } from './swallowed-deadlock.ts'
import { describeTimeLimit } from './time-limit.ts'

const overPg = (url: string) => opened(new DataSource({ type: 'postgres', url, extra: { max: 5 } }))
const overMysql2 = (url: string) => opened(new DataSource({ type: 'mysql', url, extra: { connectionLimit: 5 } }))

async function opened(dataSource: DataSource): Promise<OpenedLibrary<EntityManager>> {
  await dataSource.initialize()
  return {
    database: fromTypeOrm(dataSource),
    run: (tx, text) => tx.query(text),
    ownTransaction: (work) => dataSource.transaction(work),
    outside: (use) => use(dataSource.manager),
    close: () => dataSource.destroy(),
  }
}

describeWith('postgres')('TypeORM over pg', ({ postgres }) => {
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

describeWith('mysql')('TypeORM over mysql2', ({ mysql }) => {
  describeAdapter(mysqlWitness(mysql), overMysql2)
  describeSwallowedDeadlock(mysql, overMysql2)
})

test('fromTypeOrm names the types it knows when it is given another', () => {
  const dataSource = new DataSource({ type: 'postgres' })
  Object.assign(dataSource, { options: { type: 'oracle' } })
  expect(() => fromTypeOrm(dataSource)).toThrow('postgres, mysql or mariadb')
})
