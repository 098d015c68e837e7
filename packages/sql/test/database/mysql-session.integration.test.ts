import { StateError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { createPool } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'

describeWith('mysql')('sessions of a server that ends transactions otherwise', ({ mysql }) => {
  /** Simulates a server-wide setting: every new session has it. */
  async function withSetting(setting: string, use: (database: ReturnType<typeof fromMysql2>) => Promise<void>) {
    const pool = createPool(mysql.url)
    pool.pool.on('connection', (connection) => void connection.query(`SET SESSION ${setting}`))
    try {
      await use(fromMysql2(pool))
    } finally {
      await pool.end()
    }
  }

  const settings = [
    ['autocommit = 0', 'autocommit = 0: a statement begins a transaction that is never committed'],
    ['completion_type = 1', 'completion_type = CHAIN: each COMMIT begins another transaction'],
    ['completion_type = 2', 'completion_type = RELEASE: each COMMIT closes the session'],
  ] as const
  const advice = /SET autocommit = 1, completion_type = NO_CHAIN/

  describe.each(settings)('with %s', (setting, what) => {
    test('are refused by migrate, which says what to set', () =>
      withSetting(setting, async (database) => {
        const error: unknown = await migrate(database).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(StateError)
        expect(error).toMatchObject({ message: expect.stringContaining(what), hint: expect.stringMatching(advice) })
        const [tables] = await mysql.pool.query("SHOW TABLES LIKE 'outbox%'")
        expect(tables).toEqual([])
      }))
  })

  test.each(settings.slice(0, 2))('with %s are refused where the store begins a transaction', async (setting, what) => {
    await migrate(fromMysql2(mysql.pool))
    try {
      await withSetting(setting, async (database) => {
        const store = createOutboxStore(database)
        const claim = async (): Promise<void> => {
          // The first commit of a session may leave the next transaction open.
          for (let times = 0; times < 2; times++)
            await database.connection((connection) => store.takeShards(connection, 'a', [0], 1_000))
        }
        await expect(claim()).rejects.toThrow(what)
      })
    } finally {
      const [tables] = await mysql.pool.query('SHOW TABLES')
      for (const row of tables as object[]) await mysql.pool.query(`DROP TABLE \`${Object.values(row)[0]}\``)
    }
  })
})
