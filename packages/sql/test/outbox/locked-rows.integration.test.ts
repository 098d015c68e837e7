import { createEnvelope } from '@waybill/core'
import type { OutboxStore } from '@waybill/outbox'
import { type LeaseFence, type RowRef, RowsLockedError } from '@waybill/outbox/internal'
import { createOutboxStore, fromMysql2, fromPg, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { beforeAll, expect, test } from 'vitest'
import { allShards } from './statement-recorder.ts'

const leaseMs = 60_000

/** Checks statements that meet a row which another transaction has locked. */
function behaves<Tx>(database: SqlDatabase<Tx>, lockText: (table: string, seq: bigint) => string): void {
  const rows: RowRef[] = []
  let store: OutboxStore
  beforeAll(async () => {
    await migrate(database, { tables: { outbox: 'locked', inbox: false } })
    store = createOutboxStore(database, { table: 'locked' })
    const events = Array.from({ length: 6 }, (_, n) =>
      createEnvelope({ eventType: 'order.placed', aggregateId: `o-${n}`, payloadJson: '{}' }),
    )
    const { seqs } = await database.transaction((tx) =>
      store.insertNew(database.enlist(tx).currentConnection(), events, { lease: null, availableAt: null }),
    )
    rows.push(...events.map(({ eventId }, at) => ({ seq: seqs[at] as bigint, eventId })))
  })

  /** Runs the work while another transaction has locked the row, and ends that without a change. */
  async function whileLocked<T>({ seq }: RowRef, work: () => Promise<T>): Promise<T> {
    return database.transaction(async (tx) => {
      await database.enlist(tx).currentConnection().query(lockText('locked', seq), [])
      return work()
    })
  }

  const done = (some: readonly RowRef[], fence: LeaseFence): Promise<bigint[]> =>
    database.connection((connection) => store.markDone(connection, some, fence, { whenDone: 'KEEP' }))

  test('L2 gives up on a locked row soon and names it, and changes the others without it', async () => {
    const [locked, other] = rows as [RowRef, RowRef]
    await whileLocked(locked, async () => {
      await expect(done([locked, other], { kind: 'NONE' })).rejects.toThrow(RowsLockedError)
      const found = await database.connection((connection) => store.lockedRows(connection, [locked, other]))
      expect([...found]).toEqual([locked.seq])
      expect(await done([other], { kind: 'NONE' })).toEqual([other.seq])
    })
    expect(await done([locked], { kind: 'NONE' })).toEqual([locked.seq])
  })

  test('L2 counts a row as free that was deleted, which would otherwise be waited for without an end', async () => {
    const gone: RowRef = { seq: 1_000_000n, eventId: 'gone' }
    const locked = rows[5] as RowRef
    await whileLocked(locked, async () => {
      const found = await database.connection((connection) => store.lockedRows(connection, [gone, locked]))
      expect([...found]).toEqual([locked.seq])
    })
  })

  test('I6 renews its leases while a finish waits for a locked row', async () => {
    const leases = await database.connection((connection) => store.takeShards(connection, 'owner', allShards, leaseMs))
    const locked = rows[2] as RowRef
    await whileLocked(locked, async () => {
      let isRenewed = false
      // One after the other without an end, as a busy outbox sends them: a renewal that waited for them would never resolve.
      const finishing = (async (): Promise<void> => {
        while (!isRenewed)
          await done([locked], { kind: 'SHARDS', leases }).catch((error: unknown) => {
            expect(error).toBeInstanceOf(RowsLockedError)
          })
      })()
      const renewed = await database.connection((connection) => store.renewShards(connection, leases, leaseMs))
      isRenewed = true
      expect(renewed).toHaveLength(allShards.length)
      await finishing
    })
    expect(await done([locked], { kind: 'SHARDS', leases })).toEqual([locked.seq])
  })

  test('I6 finishes no row whose shard was taken over while it waited for the lock of the row', async () => {
    const before = await database.connection((connection) => store.takeShards(connection, 'owner', allShards, leaseMs))
    const [locked, other] = rows.slice(3) as [RowRef, RowRef]
    await whileLocked(locked, async () => {
      const finishing = done([locked, other], { kind: 'SHARDS', leases: before }).catch(() => [])
      await database.connection((connection) => store.takeShards(connection, 'owner', allShards, leaseMs))
      expect(await finishing).toEqual([])
    })
    expect(await done([locked, other], { kind: 'SHARDS', leases: before })).toEqual([])
  })
}

describeWith('postgres')('a statement of the store on PostgreSQL', ({ postgres }) => {
  behaves(fromPg(postgres.pool), (table, seq) => `SELECT seq FROM ${table} WHERE seq = ${seq} FOR UPDATE`)

  test('leaves the session as it was', async () => {
    const database = fromPg(postgres.pool)
    const store = createOutboxStore(database, { table: 'locked' })
    const timeouts = await database.connection(async (connection) => {
      await store.markDone(connection, [{ seq: 1n, eventId: 'none' }], { kind: 'NONE' }, { whenDone: 'KEEP' })
      const { rows } = await connection.query("SELECT current_setting('lock_timeout') AS lock_timeout", [])
      return rows
    })
    expect(timeouts).toEqual([{ lock_timeout: '0' }])
  })
})

describeWith('mysql')('a statement of the store on MariaDB', ({ mysql }) => {
  behaves(fromMysql2(mysql.pool), (table, seq) => `SELECT seq FROM ${table} WHERE seq = ${seq} FOR UPDATE`)

  test('leaves the session as it was', async () => {
    const database = fromMysql2(mysql.pool)
    const store = createOutboxStore(database, { table: 'locked' })
    const seconds = await database.connection(async (connection) => {
      await connection.query('SET SESSION innodb_lock_wait_timeout = 7', [])
      await store.markDone(connection, [{ seq: 1n, eventId: 'none' }], { kind: 'NONE' }, { whenDone: 'KEEP' })
      const { rows } = await connection.query('SELECT @@innodb_lock_wait_timeout AS seconds', [])
      await connection.query('SET SESSION innodb_lock_wait_timeout = DEFAULT', [])
      return Number(rows[0]?.['seconds'])
    })
    expect(seconds).toBe(7)
  })
})
