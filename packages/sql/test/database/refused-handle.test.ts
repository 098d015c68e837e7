import { DatabaseSync } from 'node:sqlite'
import { NoTransactionError } from '@waybill/core'
import { expect, test } from 'vitest'
import { fromMysql2, type Mysql2Connection, type Mysql2Pool } from '../../src/adapter/from-mysql2.ts'
import { fromSqlite } from '../../src/adapter/from-sqlite.ts'

const handle = new DatabaseSync(':memory:')
const database = fromSqlite(handle)

/** Returns the error for an argument that untyped code may pass. */
function refusal(given: unknown): string {
  try {
    database.enlist(given as DatabaseSync)
  } catch (error) {
    expect(error).toBeInstanceOf(NoTransactionError)
    return (error as Error).message
  }
  return 'not refused'
}

test.each<[string, unknown, string]>([
  ['the name of the event', 'order.placed', 'the first argument must be a transaction handle, got "order.placed"'],
  ['nothing', undefined, 'the first argument must be a transaction handle, got undefined'],
])('%s in place of the handle is refused with what was handed in', (_, given, told) => {
  expect(refusal(given)).toContain(`No active transaction: ${told}`)
})

test('another handle than that of the transaction around it is refused with which one is wanted', async () => {
  await database.transaction(async () => {
    expect(refusal(new DatabaseSync(':memory:'))).toContain(
      'the handle is not the tx of the transaction that is open here',
    )
  })
})

test('a handle where no transaction is open at all is refused as that', () => {
  expect(refusal(handle)).toMatch(/^No active transaction\. /)
})

test('a handle used after its transaction because work was not awaited is rejected with a hint to await', async () => {
  const late = Promise.withResolvers<string>()
  await database.transaction(async (tx) => {
    setTimeout(() => late.resolve(refusal(tx)))
  })
  expect(await late.promise).toMatch(
    /some of its work was not awaited\. .* Await it: for … of with await; forEach\(async …\) awaits nothing\.$/,
  )
})

test('a statement beside a nested transaction that is just being begun is refused with what to await', async () => {
  await database.transaction(async (tx) => {
    const nested = database.transaction(async () => {})
    expect(refusal(tx)).toContain('a nested transaction is being started concurrently')
    expect(() => database.ambient.currentConnection()).toThrow('a nested transaction is being started concurrently')
    await nested
    expect(refusal(tx)).toBe('not refused')
  })
})

test.each<[string, object]>([
  ['the pool', { getConnection: async () => ({}), query: async () => [[], []] }],
  ['the database', { transaction: async () => {} }],
])('on mysql2, whose connections do not tell, %s is refused before anything is sent', (_, given) => {
  const pool = { getConnection: async () => ({}) } as unknown as Mysql2Pool<Mysql2Connection>
  expect(() => fromMysql2(pool).enlist(given as Mysql2Connection)).toThrow(NoTransactionError)
})
