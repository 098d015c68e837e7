import { NoTransactionError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import type { PoolConnection } from 'mysql2/promise'
import { beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { mysql2Connection } from '../../src/adapter/from-mysql2.ts'
import { MysqlTransactionGuard } from '../../src/adapter/mysql-transaction-guard.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'

// Both ways work on MariaDB; on MySQL only the second does.
describeWith('mysql')('the guard of transactions', ({ mysql }) => {
  let serverIsMariaDb = false
  beforeAll(async () => {
    const [rows] = await mysql.pool.query('SELECT version() AS version')
    serverIsMariaDb = String((rows as { version: string }[])[0]?.version).includes('MariaDB')
  })
  const needsMariaDb = ({ skip }: TestContext): void => {
    if (!serverIsMariaDb) skip('the server is MySQL, and the test is about MariaDB')
  }

  describe.each([
    ['as a condition of the statement', true],
    ['by a savepoint', false],
  ])('%s', (_, isMariaDb) => {
    if (isMariaDb) beforeEach(needsMariaDb)
    const guard = new MysqlTransactionGuard(isMariaDb)
    const table = isMariaDb ? 'guarded' : 'probed'
    const insert = `INSERT INTO ${table} (id) VALUES (?)`

    async function withConnection(use: (pooled: PoolConnection) => Promise<void>): Promise<void> {
      const pooled = await mysql.pool.getConnection()
      try {
        await pooled.query(`CREATE TABLE IF NOT EXISTS ${table} (id int primary key)`)
        await use(pooled)
      } finally {
        await pooled.query('SET autocommit = 1')
        await pooled.query(`DELETE FROM ${table}`)
        pooled.release()
      }
    }

    test('refuses to write outside a transaction, and reads all the same', () =>
      withConnection(async (pooled) => {
        const connection = guard.guarded(mysql2Connection(pooled))
        await expect(connection.query(insert, [1])).rejects.toThrow(NoTransactionError)
        expect((await connection.query(`SELECT id FROM ${table}`, [])).rows).toEqual([])
      }))

    test('lets writes through inside one, with what they answer', () =>
      withConnection(async (pooled) => {
        const connection = guard.guarded(mysql2Connection(pooled))
        await pooled.beginTransaction()
        expect(await connection.query(insert, [1])).toMatchObject({ rows: [], changed: 1 })
        const unchanged = await connection.query(`UPDATE ${table} SET id = 1 WHERE id = 1`, [])
        expect(unchanged.changed).toBe(1)
        if (serverIsMariaDb) {
          const { rows, changed } = await connection.query(`${insert} RETURNING id`, [2])
          expect({ rows, changed }).toEqual({ rows: [{ id: 2 }], changed: 1 })
        } else await connection.query(insert, [2])
        await expect(connection.query(insert, [2])).rejects.toMatchObject({ errno: 1062 })
        await guard.checkBeforeCommit(mysql2Connection(pooled))
        await pooled.commit()
        await expect(guard.checkBeforeCommit(mysql2Connection(pooled))).rejects.toThrow(TransactionEndedError)
      }))

    test('lets the first statement begin a transaction where autocommit is off', () =>
      withConnection(async (pooled) => {
        const connection = guard.guarded(mysql2Connection(pooled))
        await pooled.query('SET autocommit = 0')
        await connection.query(insert, [1])
        await pooled.rollback()
        expect((await connection.query(`SELECT id FROM ${table}`, [])).rows).toEqual([])
      }))
  })

  test('costs no statement more on MariaDB', async (context) => {
    needsMariaDb(context)
    const pooled = await mysql.pool.getConnection()
    const statements = async (): Promise<number> => {
      const [rows] = await pooled.query("SHOW SESSION STATUS LIKE 'Questions'")
      return Number((rows as { Value: string }[])[0]?.Value)
    }
    try {
      await pooled.query('CREATE TABLE counted (id int primary key)')
      await pooled.beginTransaction()
      const before = await statements()
      await new MysqlTransactionGuard(true)
        .guarded(mysql2Connection(pooled))
        .query('INSERT INTO counted VALUES (1)', [])
      // The insert, and the question itself.
      expect((await statements()) - before).toBe(2)
      await pooled.rollback()
    } finally {
      pooled.release()
    }
  })
})
