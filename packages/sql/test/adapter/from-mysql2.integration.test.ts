import { describeWith } from '@waybill/test-support'
import { createPool, type PoolConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { classifySqlError } from '../../src/error/classify-sql-error.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import { describeAdapter } from './adapter-behaviour.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { describeSwallowedDeadlock } from './swallowed-deadlock.ts'

async function open(url: string): Promise<OpenedLibrary<PoolConnection>> {
  const pool = createPool({ uri: url, connectionLimit: 5 })
  return {
    database: fromMysql2(pool),
    run: (tx, text) => tx.query(text),
    async ownTransaction(work) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await work(connection)
        await connection.commit()
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    async outside(use) {
      const connection = await pool.getConnection()
      await use(connection).finally(() => connection.release())
    },
    close: () => pool.end(),
  }
}

describeWith('mysql')('mysql2', ({ mysql }) => {
  describeAdapter(mysqlWitness(mysql), open)
  describeSwallowedDeadlock(mysql, open)

  test.each(['', 'NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES'])('binds any text in the SQL mode "%s"', async (mode) => {
    const library = await open(mysql.url)
    const texts = ["it's", "\\' or 1 = 1 -- ", '\\', '"{\\"a\\":1}"', '??', "_utf8mb4 X'00'", '\u0000\n\u001a', 'é😀']
    try {
      await library.database.connection(async (connection) => {
        await connection.query(`SET SESSION sql_mode = '${mode}'`, [])
        for (const text of texts) {
          const { rows } = await connection.query('SELECT ? AS text', [text])
          expect(rows).toEqual([{ text }])
        }
        await connection.query('SET SESSION sql_mode = DEFAULT', [])
      })
    } finally {
      await library.close()
    }
  })

  test('a session that is killed in a nested transaction is told as that, and the pool has another one', async () => {
    const { database, close } = await open(mysql.url)
    try {
      const killed = database.transaction(() =>
        database.transaction(async (tx) => {
          await tx.query('DO 0')
          await mysql.pool.query(`KILL CONNECTION ${tx.threadId}`)
        }),
      )
      const error: unknown = await killed.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(TransactionEndedError)
      expect(classifySqlError(error, 'IN_TRANSACTION')).toBe('RETRIABLE')
      await database.transaction((tx) => tx.query('SELECT 1'))
    } finally {
      await close()
    }
  })
})
