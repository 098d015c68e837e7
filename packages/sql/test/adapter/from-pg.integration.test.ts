import { NoTransactionError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { Pool, type PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { fromPg, TransactionRolledBackError } from '../../src/index.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'

async function open(url: string): Promise<OpenedLibrary<PoolClient>> {
  const pool = new Pool({ connectionString: url, max: 5 })
  // For idle clients alone: those in use are the adapter's to listen to.
  pool.on('error', () => {})
  return {
    database: fromPg(pool),
    run: (tx, text) => tx.query(text),
    async ownTransaction(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await work(client)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    async outside(use) {
      const client = await pool.connect()
      await use(client).finally(() => client.release())
    },
    close: () => pool.end(),
  }
}

test('an idle client whose connection breaks does not end the process, and is told of', async () => {
  const pool = new Pool({ connectionString: 'postgres://nowhere' })
  fromPg(pool)
  fromPg(pool)
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  pool.emit('error', new Error('terminated'), {})
  expect((await warned).message).toContain('An idle connection to PostgreSQL broke')
  expect(pool.listenerCount('error')).toBe(1)
  const seen: Error[] = []
  pool.on('error', (error) => seen.push(error))
  pool.emit('error', new Error('again'), {})
  expect(seen).toHaveLength(1)
  await pool.end()
})

describeWith('postgres')('pg', ({ postgres }) => {
  describeAdapter(postgresWitness(postgres), open)
  describeDoomedTransaction(postgresWitness(postgres), open)

  test('writing adds one statement, and the commit none', async () => {
    const database = fromPg(postgres.pool)
    const sent: string[] = []
    await database.transaction(async (tx) => {
      const send = tx.query.bind(tx)
      tx.query = ((statement: { text: string }) => {
        sent.push(statement.text)
        return send(statement)
      }) as typeof tx.query
      try {
        await database.enlist(tx).currentConnection().query("insert into things (id) values ('counted')", [])
      } finally {
        tx.query = send
      }
    })
    expect(sent).toEqual(["insert into things (id) values ('counted')"])
  })

  test('something else than a client is refused with what is wanted', () => {
    const database = fromPg(postgres.pool)
    expect(() => database.enlist({} as PoolClient)).toThrow('getTransactionStatus')
    expect(() => database.enlist(undefined as unknown as PoolClient)).toThrow(NoTransactionError)
  })

  test('a doomed transaction says what happened', async () => {
    const database = fromPg(postgres.pool)
    const doomed = database.transaction((tx) => tx.query('select nonsense').catch(() => {}))
    await expect(doomed).rejects.toThrow(TransactionRolledBackError)
  })

  test('a transaction that its own work rolled back is not taken for committed, and nothing joins it any more', async () => {
    const database = fromPg(postgres.pool)
    const ends: string[] = []
    const ended = database.transaction(async (tx) => {
      const context = database.enlist(tx)
      context.afterCommit(() => void ends.push('committed'))
      context.afterRollback(() => void ends.push('rolled back'))
      await tx.query('rollback')
      const late = context.currentConnection().query("insert into things (id) values ('late')", [])
      await expect(late).rejects.toThrow(NoTransactionError)
    })
    await expect(ended).rejects.toThrow(TransactionRolledBackError)
    expect(ends).toEqual(['rolled back'])
    const { rows } = await postgres.pool.query("select id from things where id = 'late'")
    expect(rows).toEqual([])
  })

  test('a server that refuses the commit has rolled back', async () => {
    const database = fromPg(postgres.pool)
    await postgres.pool.query(
      'create table twins (id int, constraint twins_key unique (id) deferrable initially deferred)',
    )
    const refused = database.transaction((tx) => tx.query('insert into twins values (1), (1)'))
    await expect(refused).rejects.toMatchObject({ code: '23505' })
  })

  test('a session that is killed in a transaction ends neither the process nor the pool', async () => {
    const database = fromPg(postgres.pool)
    const killed = database.transaction(async (tx) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await postgres.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
      await tx.query('select 1')
    })
    await expect(killed).rejects.toMatchObject({ code: '57P01' })
    await expect(database.connection((connection) => connection.query('select 1 as one', []))).resolves.toMatchObject({
      rows: [{ one: 1 }],
    })
  })
})
