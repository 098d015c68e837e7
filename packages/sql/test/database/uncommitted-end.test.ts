import { StateError, UnknownCommitError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { createSqlDatabase } from '../../src/database/create-sql-database.ts'
import { TransactionEndedError, TransactionRolledBackError } from '../../src/error/sql-errors.ts'

const connection: SqlConnection = { query: async () => ({ rows: [], changed: 0 }) }

/** Returns the outcome reported to after-rollback callbacks if the library threw this error after the body. */
async function endOf(thrown: Error): Promise<string[]> {
  const ends: string[] = []
  const database = createSqlDatabase<object>({
    dialect: 'postgres',
    begin: async (body) => {
      await body({})
      throw thrown
    },
    connectionOf: () => connection,
    isInTransaction: () => true,
    lend: (use) => use(connection),
  })
  const run = database.transaction(async (tx) => {
    database.enlist(tx).afterRollback((end) => void ends.push(end))
    database.enlist(tx).afterCommit(() => void ends.push('COMMITTED'))
  })
  await expect(run).rejects.toBe(thrown)
  return ends
}

test.each([
  ['UNKNOWN', new UnknownCommitError(new StateError('the connection broke'))],
  ['UNKNOWN', new TransactionEndedError()],
  ['ROLLED_BACK', new TransactionRolledBackError()],
  ['ROLLED_BACK', new StateError('the business work failed')],
])('a transaction that is not known to be committed is told as %s after %s', async (end, thrown) => {
  expect(await endOf(thrown)).toEqual([end])
})
