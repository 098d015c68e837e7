import type { SqlConnection } from '@waybill/core/internal'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { inTransaction } from '../../src/database/mysql-transaction.ts'

/** The same session, on which an operator kills each of these statements as often as said. */
function killing(connection: SqlConnection, statement: RegExp, times: number): SqlConnection {
  let left = times
  return {
    query(text, values) {
      if (!statement.test(text) || left === 0) return connection.query(text, values)
      left -= 1
      return connection.query('KILL QUERY CONNECTION_ID()', [])
    },
  }
}

async function idleLimit(connection: SqlConnection): Promise<number> {
  const { rows } = await connection.query('SELECT @@wait_timeout AS seconds', [])
  return Number(rows[0]?.['seconds'])
}

describeWith('mysql')('the limit of a step for an idle session', ({ mysql }) => {
  test('is the step’s alone, also where its end is killed and the session lives on', async () => {
    const { before, during, after } = await fromMysql2(mysql.pool).connection(async (connection) => ({
      before: await idleLimit(connection),
      during: await inTransaction(killing(connection, /^SET SESSION wait_timeout/, 1), () => idleLimit(connection)),
      after: await idleLimit(connection),
    }))
    expect(during).toBe(5)
    expect(before).toBeGreaterThan(during)
    expect(after).toBe(before)
  })
})
