import { createEnvelope, PermissionError } from '@waybill/core'
import type { OpenNumbers } from '@waybill/outbox/internal'
import { createOutboxStore, fromPg, MigrationMissingError, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith, describeWithPrivate } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { Pool, type PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'

const event = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-1', payloadJson: '{}' })
const patient = { deadlineMs: 30_000, everyMs: 100 }

function openPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 3 })
  pool.on('error', () => {}) // Sessions that the server ends are what these tests are about.
  onTestFinished(() => pool.end())
  return pool
}

async function look(database: SqlDatabase<PoolClient>): Promise<OpenNumbers> {
  const numbers = await database.connection((c) => createOutboxStore(database).openNumbers(c, 0n))
  return numbers as OpenNumbers
}

describeWith('postgres')('a user who may not see the locks of others', ({ postgres }) => {
  test('is told which privilege is missing, and the rest of the outbox works', async () => {
    // In a database of its own: rights on what belongs to the system are those of one database, and of all its users.
    const name = `${postgres.schema}_rights`
    await postgres.pool.query(`create role ${name} login`)
    await postgres.pool.query(`create database ${name} owner ${name}`)
    try {
      const admin = new Pool({ connectionString: withPath(postgres.url, name) })
      await admin.query('revoke select on pg_catalog.pg_locks from public')
      await admin.end()
      const pool = new Pool({ connectionString: withPath(postgres.url, name, name) })
      const database = fromPg(pool)
      await migrate(database)
      const store = createOutboxStore(database)
      await database.transaction((tx) =>
        store.insertNew(database.enlist(tx).currentConnection(), [event], { lease: null, availableAt: null }),
      )
      const refused: unknown = await look(database).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(PermissionError)
      expect((refused as Error).message).toContain('GRANT SELECT ON pg_catalog.pg_locks')
      const rows = await database.connection((c) =>
        store.pollPending(c, {
          status: 'NEW',
          limit: 10,
          maxBytes: 1_000_000,
          skipRecentMs: 0,
          floor: null,
          shards: null,
        }),
      )
      expect(rows).toHaveLength(1)
      await pool.end()
    } finally {
      await postgres.pool.query(`drop database ${name} with (force)`)
      await postgres.pool.query(`drop role ${name}`)
    }
  })

  test('is not meant by other errors', async () => {
    const database = fromPg(postgres.pool)
    const store = createOutboxStore(database, { table: 'not_there' })
    const refused = database.connection((connection) => store.openNumbers(connection, 0n))
    await expect(refused).rejects.toMatchObject({ code: MigrationMissingError.code })
  })
})

function withPath(url: string, database: string, user = 'postgres'): string {
  const address = new URL(url)
  address.pathname = `/${database}`
  address.username = user
  address.search = ''
  return address.href
}

describeWithPrivate('postgres')('the life of a server', (service) => {
  test('is another after a restart and after a crash, and a prepared transaction has another name then', async () => {
    const database = fromPg(openPool(service().url))
    const run = (text: string) => eventually(() => database.connection((c) => c.query(text, [])), patient)
    await migrate(database)
    await run('ALTER SYSTEM SET max_prepared_transactions = 5')
    const first = await look(database)
    expect((await look(database)).server).toBe(first.server)

    await service().stop()
    await service().start()
    const restarted = await eventually(() => look(database), patient)
    expect(restarted.server).not.toBe(first.server)

    await prepareEvent(service().url)
    const prepared = await look(database)
    expect([prepared.writers.length, prepared.server]).toEqual([1, restarted.server])

    await crash(service().url)
    // Sessions go on for a moment after the crash of another.
    const recovered = await eventually(async () => {
      const numbers = await look(database)
      expect(numbers.server).not.toBe(restarted.server)
      return numbers
    }, patient)
    expect(recovered.writers).toHaveLength(1)
    expect(recovered.writers).not.toEqual(prepared.writers)

    await run("COMMIT PREPARED 'late'")
    const committed = await look(database)
    expect(committed).toEqual({ given: expect.anything(), writers: [], server: recovered.server })
  })
})

async function prepareEvent(url: string): Promise<void> {
  const pool = openPool(url)
  const database = fromPg(pool)
  const client = await pool.connect()
  await client.query('begin')
  const store = createOutboxStore(database)
  await store.insertNew(database.enlist(client).currentConnection(), [event], { lease: null, availableAt: null })
  await client.query("prepare transaction 'late'")
  client.release()
}

/** One session crashes, so the server ends all others and recovers, without being started anew. */
async function crash(url: string): Promise<void> {
  const client = await openPool(url).connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise((resolve) => client.once('error', resolve))
  process.kill(rows[0]?.pid as number, 'SIGKILL')
  await ended
  client.release(true)
}
