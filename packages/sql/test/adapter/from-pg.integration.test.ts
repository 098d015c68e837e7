import { AsyncLocalStorage } from 'node:async_hooks'
import { type AddressInfo, createServer } from 'node:net'
import { createEnvelope, type EventEnvelope, NoTransactionError } from '@waybill/core'
import type { InsertOptions } from '@waybill/outbox/internal'
import { describeWith } from '@waybill/test-support'
import { Pool, type PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { fromPg } from '../../src/adapter/from-pg.ts'
import { classifySqlError } from '../../src/error/classify-sql-error.ts'
import {
  DatabaseUnreachableError,
  TransactionEndedError,
  TransactionRolledBackError,
} from '../../src/error/sql-errors.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'
import { describeTimeLimit } from './time-limit.ts'

const plain: InsertOptions = { lease: null, availableAt: null }

function event(): EventEnvelope {
  return createEnvelope({ eventType: 'thing.made', aggregateType: 'thing', aggregateId: 'one', payloadJson: '{}' })
}

/** Records the statements sent to a client until its work has ended. */
function statementsOf(client: PoolClient): string[] {
  const sent: string[] = []
  const send = client.query.bind(client)
  client.query = ((statement: { text: string } | string) => {
    sent.push(typeof statement === 'string' ? statement : statement.text)
    if (sent.at(-1) === 'COMMIT') client.query = send
    return send(statement as string)
  }) as typeof client.query
  return sent
}

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

test('an idle client whose connection breaks does not end the process and emits a warning', async () => {
  const pool = new Pool({ connectionString: 'postgres://nowhere' })
  fromPg(pool)
  fromPg(pool)
  // Other files of this worker may have caused warnings that are still to come: wait for this one.
  const warned = new Promise<void>((resolve) => {
    const note = ({ message }: Error): void => {
      if (message.includes('An idle connection to PostgreSQL broke')) resolve()
    }
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
  })
  pool.emit('error', new Error('terminated'), {})
  await warned
  expect(pool.listenerCount('error')).toBe(1)
  const seen: Error[] = []
  pool.on('error', (error) => seen.push(error))
  pool.emit('error', new Error('again'), {})
  expect(seen).toHaveLength(1)
  await pool.end()
})

/** Answers each login and ends the session within the same packet, as a server does that shuts down. */
async function serverThatShutsDown(): Promise<string> {
  // AuthenticationOk and ReadyForQuery.
  const loggedIn = Buffer.from('5200000008000000005a0000000549', 'hex')
  const fields = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([loggedIn, head, fields])))
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `postgres://someone@127.0.0.1:${(server.address() as AddressInfo).port}/any`
}

test('a connection that breaks in the moment it is opened does not end the process', async () => {
  const pool = new Pool({ connectionString: await serverThatShutsDown() })
  const database = fromPg(pool)
  await expect(database.connection((connection) => connection.query('SELECT 1', []))).rejects.toThrow(
    DatabaseUnreachableError,
  )
  await expect(database.transaction(async () => {})).rejects.toThrow(DatabaseUnreachableError)
  await pool.end()
})

describeWith('postgres')('pg', ({ postgres }) => {
  describeAdapter(postgresWitness(postgres), open)
  describeDoomedTransaction(postgresWitness(postgres), open)
  describeTimeLimit(postgresWitness(postgres), open)

  test('writing an event adds one statement, and the commit none', async () => {
    const database = fromPg(postgres.pool)
    await migrate(database)
    const store = createOutboxStore(database)
    let sent: string[] = []
    await database.transaction(async (tx) => {
      sent = statementsOf(tx)
      const { areBoundToCommit } = await store.insertNew(database.enlist(tx).currentConnection(), [event()], plain)
      expect(areBoundToCommit).toBe(true)
    })
    expect(sent).toEqual([expect.stringMatching(/^INSERT INTO/), 'COMMIT'])
  })

  test('where the work may have ended the transaction, the commit adds one', async () => {
    const database = fromPg(postgres.pool)
    await migrate(database)
    const store = createOutboxStore(database)
    let sent: string[] = []
    await database.transaction(async (tx) => {
      await store.insertNew(database.enlist(tx).currentConnection(), [event()], plain)
      await tx.query('SAVEPOINT own')
      await tx.query('ROLLBACK TO SAVEPOINT own')
      sent = statementsOf(tx)
    })
    expect(sent).toEqual([expect.stringContaining('pg_current_xact_id_if_assigned'), 'COMMIT'])
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
      context.afterRollback((end) => void ends.push(end))
      await tx.query('rollback')
      const late = context.currentConnection().query("insert into things (id) values ('late')", [])
      await expect(late).rejects.toThrow(NoTransactionError)
    })
    await expect(ended).rejects.toThrow(TransactionEndedError)
    expect(ends).toEqual(['UNKNOWN'])
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
    // 57P01, or that the client is broken already when it is to send the next statement.
    const error: unknown = await killed.catch((thrown: unknown) => thrown)
    expect(classifySqlError(error, 'IN_TRANSACTION')).toBe('RETRIABLE')
    await expect(database.connection((connection) => connection.query('select 1 as one', []))).resolves.toMatchObject({
      rows: [{ one: 1 }],
    })
  })

  test('a session that is killed in a nested transaction is told as that, and the pool has another one', async () => {
    const database = fromPg(postgres.pool)
    const killed = database.transaction(() =>
      database.transaction(async (tx) => {
        const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
        await postgres.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
      }),
    )
    const error: unknown = await killed.catch((thrown: unknown) => thrown)
    expect(error).not.toBeInstanceOf(TransactionEndedError)
    expect(classifySqlError(error, 'IN_TRANSACTION')).toBe('RETRIABLE')
    await database.transaction((tx) => tx.query('select 1'))
  })

  test('a handle whose transaction is being rolled back is refused, also outside the flow of its work', async () => {
    const database = fromPg(postgres.pool)
    const outside = AsyncLocalStorage.snapshot()
    let late: Promise<unknown> = Promise.resolve()
    const failed = database.transaction(async (tx) => {
      late = outside(async () => {
        await new Promise<void>((resolve) => process.nextTick(resolve))
        return database.enlist(tx)
      }).catch((error: unknown) => error)
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    expect(await late).toBeInstanceOf(NoTransactionError)
  })
})
