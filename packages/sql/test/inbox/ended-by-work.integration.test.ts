import { DatabaseSync } from 'node:sqlite'
import { describeWith } from '@waybill/test-support'
import postgresJs from 'postgres'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { fromPg } from '../../src/adapter/from-pg.ts'
import { fromPostgresJs } from '../../src/adapter/from-postgres-js.ts'
import { fromSqlite } from '../../src/adapter/from-sqlite.ts'
import type { SqlDatabase } from '../../src/database/sql-database.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import { createIdempotencyStore } from '../../src/inbox/create-idempotency-store.ts'
import { createInbox } from '../../src/inbox/create-inbox.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { postgresJsUrl } from '../adapter/postgres-js-url.ts'

type PostgresJsTx = postgresJs.TransactionSql

const failure = new Error('the effect fails')

/** The database of a test, and how the work of an application sends a statement by itself. */
interface Scene<Tx> {
  readonly database: SqlDatabase<Tx>
  readonly send: (tx: Tx, text: string) => unknown
  readonly begin: string
}

function describeEnds<Tx>({ database, send, begin }: Scene<Tx>): void {
  const inbox = createInbox(database)
  const store = createIdempotencyStore(database)
  let keys = 0
  let key = ''

  beforeEach(async () => {
    key = `event-${++keys}`
    await migrate(database, { tables: { outbox: false } })
    await query('CREATE TABLE IF NOT EXISTS ended_effect (name varchar(20))')
    await query('DELETE FROM ended_effect')
  })

  const query = (text: string) => database.connection((connection) => connection.query(text, []))
  const countEffects = async () => (await query('SELECT name FROM ended_effect')).rows.length
  const effect = async (tx: Tx) => void (await send(tx, "INSERT INTO ended_effect VALUES ('E')"))
  const run = (work: (tx: Tx) => Promise<void>) => inbox.run('shipping', key, work).catch((error: unknown) => error)
  const sends = (...texts: string[]) => {
    return async (tx: Tx): Promise<void> => {
      for (const text of texts) await send(tx, text)
    }
  }

  test.each([
    ['COMMIT', ['COMMIT']],
    ['COMMIT and BEGIN', ['COMMIT', begin]],
  ])(
    'C-78 a mark that the work committed by %s before it failed is taken back, and the effect runs again',
    async (_, texts) => {
      const ended = await run(async (tx) => {
        await sends(...texts)(tx)
        throw failure
      })
      expect(ended).toBeInstanceOf(TransactionEndedError)
      expect(ended).toMatchObject({ cause: failure })
      expect(String(ended)).toMatch(/mark was committed too and has been deleted/)
      expect(await store.seen('shipping', key)).toBe(false)
      expect(await run(effect)).toBe('DONE')
      expect([await run(effect), await countEffects()]).toEqual(['DUPLICATE', 1])
    },
  )

  test('C-78 a failure that rolls back is told as it is, and the effect runs again', async () => {
    const failed = await run(async (tx) => {
      await effect(tx)
      throw failure
    })
    expect(failed).toBe(failure)
    expect([await run(effect), await countEffects()]).toEqual(['DONE', 1])
  })

  test('C-78 a mark that another run has set since the work rolled back stays', async () => {
    // On SQLite a transaction of another one waits for this one, so its mark is written by the work itself.
    const mark = `INSERT INTO inbox_mark (consumer, mark_key, marked_at) SELECT 'shipping', '${key}', ${inAnHour(database)}`
    const failed = await run(async (tx) => {
      await send(tx, 'ROLLBACK')
      await send(tx, mark)
      throw failure
    })
    expect(failed).toBe(failure)
    expect(await run(effect)).toBe('DUPLICATE')
  })

  test('C-78 of runs at once of which one rolls back and fails, the mark of the one that had the effect stays', async () => {
    const [isMarked, isAwaited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = run(async (tx) => {
      isMarked.resolve()
      await isAwaited.promise
      await send(tx, 'ROLLBACK')
      throw failure
    })
    await isMarked.promise
    const second = run(effect)
    isAwaited.resolve()
    expect(await Promise.all([first, second])).toEqual([failure, 'DONE'])
    expect([await run(effect), await countEffects()]).toEqual(['DUPLICATE', 1])
  })

  test('C-78 an effect that succeeded after it had committed by itself is not repeated', async () => {
    const ended = await run(async (tx) => {
      await effect(tx)
      await send(tx, 'COMMIT')
    })
    expect(ended).toBeInstanceOf(TransactionEndedError)
    expect([await run(effect), await countEffects()]).toEqual(['DUPLICATE', 1])
  })

  if (database.dialect === 'postgres') {
    test.each([
      ['ROLLBACK', ['ROLLBACK', begin]],
      ['COMMIT', ['COMMIT', begin]],
    ])('C-78 an effect in a transaction that the work began after %s is refused, and runs again', async (_, texts) => {
      const ended = await run(async (tx) => {
        await sends(...texts)(tx)
        await effect(tx)
      })
      expect(ended).toBeInstanceOf(TransactionEndedError)
      expect([await countEffects(), await store.seen('shipping', key)]).toEqual([0, false])
      expect([await run(effect), await countEffects()]).toEqual(['DONE', 1])
    })
  }

  if (database.dialect === 'mysql') {
    test('C-78 a mark that a statement committed by itself before the work failed is taken back', async () => {
      const ended = await run(async (tx) => {
        await send(tx, 'CREATE TABLE IF NOT EXISTS ended_other (a int)')
        throw failure
      })
      expect(ended).toBeInstanceOf(TransactionEndedError)
      expect([await run(effect), await countEffects()]).toEqual(['DONE', 1])
    })
  }
}

async function refusedEffect(tx: PostgresJsTx): Promise<void> {
  await tx.unsafe("INSERT INTO refused_effect VALUES ('E')")
}

/** A time that no run gives to its mark. */
function inAnHour({ dialect }: Pick<SqlDatabase<never>, 'dialect'>): string {
  switch (dialect) {
    case 'postgres':
      return "now() + interval '1 hour'"
    case 'mysql':
      return 'UTC_TIMESTAMP(6) + INTERVAL 1 HOUR'
    case 'sqlite':
      return "CAST(unixepoch('subsec') * 1000 AS INTEGER) + 3600000"
  }
}

describe('work that ends its transaction in an inbox on SQLite', () => {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  describeEnds({ database, send: (tx, text) => tx.exec(text), begin: 'BEGIN' })
})
describeWith('postgres')('work that ends its transaction in an inbox on PostgreSQL', ({ postgres }) =>
  describeEnds({ database: fromPg(postgres.pool), send: (tx, text) => tx.query(text), begin: 'BEGIN' }),
)
describeWith('postgres')('work that ends its transaction in an inbox on postgres.js', ({ postgres }) => {
  const { address, searchPath } = postgresJsUrl(postgres.url)
  const sql = postgresJs(address, { max: 5, connection: { search_path: searchPath }, onnotice: () => undefined })
  afterAll(() => sql.end({ timeout: 5 }))

  test.each(['ROLLBACK', 'COMMIT'])(
    'C-78 %s is refused with its effect and mark rolled back, and the effect runs again',
    async (end) => {
      const database = fromPostgresJs(sql)
      await migrate(database, { tables: { outbox: false } })
      await sql.unsafe('CREATE TABLE IF NOT EXISTS refused_effect (name varchar(20))')
      await sql.unsafe('DELETE FROM refused_effect')
      const inbox = createInbox(database)
      const key = `refused-${end}`
      const refused = inbox.run('shipping', key, async (tx) => {
        await refusedEffect(tx)
        await tx.unsafe(end)
      })
      await expect(refused).rejects.toThrow('must not be ended by a statement')
      expect(await createIdempotencyStore(database).seen('shipping', key)).toBe(false)
      expect(await inbox.run('shipping', key, refusedEffect)).toBe('DONE')
      expect(await inbox.run('shipping', key, refusedEffect)).toBe('DUPLICATE')
      expect(await sql.unsafe('SELECT name FROM refused_effect')).toHaveLength(1)
    },
  )
})
describeWith('mysql')('work that ends its transaction in an inbox on MariaDB', ({ mysql }) =>
  describeEnds({ database: fromMysql2(mysql.pool), send: (tx, text) => tx.query(text), begin: 'START TRANSACTION' }),
)
