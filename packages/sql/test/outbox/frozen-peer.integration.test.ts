import { createEnvelope } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import type { RowRef, ShardLease } from '@waybill/outbox/internal'
import { createOutboxStore, fromMysql2, fromPg, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { createPool } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { allShards, recordStatements } from './statement-recorder.ts'

/** Longer than a server lets a session be idle in a step, shorter than a wait for a lock lasts. */
const patient = { deadlineMs: 30_000, everyMs: 100 }
const leaseMs = 50
const query = { status: 'NEW', limit: 100, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null } as const

/** An outbox with one row, and what its nodes may do. */
interface Scene {
  readonly store: OutboxStore
  readonly row: RowRef
  readonly leases: readonly ShardLease[]
}

async function openScene<Tx>(database: SqlDatabase<Tx>, table: string): Promise<Scene> {
  await migrate(database, { tables: { outbox: table, inbox: false } })
  const store = createOutboxStore(database, { table })
  const event = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-1', payloadJson: '{}' })
  const { seqs } = await database.transaction((tx) =>
    store.insertNew(database.enlist(tx).currentConnection(), [event], { lease: null, availableAt: null }),
  )
  const leases = await database.connection((c) => store.takeShards(c, 'zombie', allShards, leaseMs))
  return { store, row: { seq: seqs[0] as bigint, eventId: event.eventId }, leases }
}

type Step = (scene: Scene, connection: SqlConnection) => Promise<unknown>

const claimAs =
  (owner: string): Step =>
  ({ store }, connection) =>
    store.claimPending(connection, { owner, version: 1n, timeoutMs: leaseMs }, query)
const takeAs =
  (owner: string): Step =>
  ({ store }, connection) =>
    store.takeShards(connection, owner, allShards, leaseMs)

/** The step in which a node freezes, the step of its successor, and how much the successor gets of the node's rows. */
const steps: readonly (readonly [name: string, zombie: Step, heir: Step, gets: number])[] = [
  ['take shards', takeAs('zombie'), takeAs('heir'), allShards.length],
  ['renew shards', ({ store, leases }, c) => store.renewShards(c, leases, leaseMs), takeAs('heir'), allShards.length],
  [
    'finish rows',
    ({ store, row, leases }, c) => store.markDone(c, [row], { kind: 'SHARDS', leases }, { whenDone: 'KEEP' }),
    takeAs('heir'),
    allShards.length,
  ],
  ['claim rows', claimAs('zombie'), claimAs('heir'), 1],
]

/** A session whose process is frozen when it is about to commit: what it sent before has been carried out. */
function frozenBeforeCommit(connection: SqlConnection): { connection: SqlConnection; frozen: Promise<void> } {
  const { promise: frozen, resolve } = Promise.withResolvers<void>()
  return {
    frozen,
    connection: {
      query(text, values) {
        if (text !== 'COMMIT') return connection.query(text, values)
        resolve()
        return new Promise(() => {})
      },
    },
  }
}

describeWith('mysql')('a node on MySQL that is frozen in a transaction of its own', ({ mysql }) => {
  test.concurrent.for(steps)('does not keep from its heir what it held: %s', async ([name, zombie, heir, gets]) => {
    const database = fromMysql2(mysql.pool)
    const scene = await openScene(database, `frozen_${name.replace(' ', '_')}`)
    const pool = createPool({ uri: mysql.url, connectionLimit: 1 })
    const held = await pool.getConnection()
    held.on('error', () => {}) // The server ends it.
    const session = frozenBeforeCommit({
      async query(text, values) {
        const [answer] = await held.query(text, [...values])
        return Array.isArray(answer)
          ? { rows: answer as Record<string, unknown>[], changed: 0 }
          : { rows: [], changed: answer.affectedRows }
      },
    })
    void zombie(scene, session.connection)
    await session.frozen
    await eventually(async () => {
      const gained = (await database.connection((c) => heir(scene, c))) as readonly unknown[]
      expect(gained).toHaveLength(gets)
    }, patient)
    held.destroy()
    await pool.end()
  })

  test('leaves the session as it was after a step', async () => {
    const database = fromMysql2(mysql.pool)
    const { store } = await openScene(database, 'frozen_none')
    const timeout = await database.connection(async (c) => {
      await c.query('SET SESSION wait_timeout = 1234', [])
      await store.takeShards(c, 'zombie', [1], leaseMs)
      const { rows } = await c.query('SELECT @@wait_timeout AS seconds', [])
      await c.query('SET SESSION wait_timeout = DEFAULT', [])
      return rows[0]?.['seconds']
    })
    expect(Number(timeout)).toBe(1234)
  })
})

describeWith('postgres')('a node on PostgreSQL', ({ postgres }) => {
  test.for(steps)('holds nothing between two statements, so a freeze keeps nothing: %s', async ([name, zombie]) => {
    const database = fromPg(postgres.pool)
    const scene = await openScene(database, `frozen_${name.replace(' ', '_')}`)
    const sent = await database.connection(async (connection) => {
      const session = recordStatements(connection)
      await zombie(scene, session.connection)
      return session.sent
    })
    expect(sent).toHaveLength(1)
  })
})
