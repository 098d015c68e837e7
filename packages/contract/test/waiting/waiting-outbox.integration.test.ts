import { DatabaseSync } from 'node:sqlite'
import { checkWaiting, waitingOutbox } from '@waybill/contract/waiting'
import { encodeEvent } from '@waybill/core'
import { createOutboxStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { careless, released, stepped } from './shop-catalogs.ts'

/** The same on every database. */
function waitingOutboxSuite<Tx>(open: () => SqlDatabase<Tx>): void {
  test('reads pending, delayed and dead rows with a new catalog, and claims none', async () => {
    const database = open()
    const table = 'waiting_outbox'
    await migrate(database, { tables: { outbox: table } })
    const store = createOutboxStore(database, { table })
    const events = released('orders')
    const write = async (ids: readonly string[], availableAt: number | null): Promise<readonly bigint[]> => {
      const envelopes = await Promise.all(ids.map((id) => encodeEvent(events, 'OrderPlaced', { id })))
      const { seqs } = await database.connection((connection) =>
        store.insertNew(connection, envelopes, { lease: null, availableAt }),
      )
      const [seq] = seqs
      if (ids.length === 1 && seq !== undefined && ids[0] === 'dead')
        await database.connection((connection) =>
          store.markDead(connection, [{ seq, eventId: envelopes[0]?.eventId ?? '', error: 'never' }], { kind: 'NONE' }),
        )
      return seqs
    }
    await write(['a', 'b', 'c'], null)
    await write(['later'], Date.now() + 3_600_000)
    await write(['dead'], null)
    const check = (catalog: ReturnType<typeof careless>, maxRecords = 10_000) =>
      checkWaiting({
        events: catalog,
        sources: [waitingOutbox({ database, store, events: catalog })],
        maxRecords,
      })

    const bad = await check(careless('orders'))
    expect(bad).toMatchObject({
      passes: false,
      isComplete: true,
      readings: [
        { name: 'outbox', read: 4, unread: 0 },
        { name: 'outbox, dead events', read: 1, unread: 0 },
      ],
      counts: [
        {
          event: 'OrderPlaced',
          version: 1,
          count: 5,
          failed: 5,
          failure: { place: expect.stringMatching(/^outbox row \d+$/) },
        },
      ],
    })
    expect(await check(stepped('orders'))).toMatchObject({ passes: true, counts: [{ count: 5, failed: 0 }] })

    const bounded = await check(stepped('orders'), 2)
    expect(bounded.isComplete).toBe(false)
    expect(bounded.readings.map(({ endedBy }) => endedBy)).toEqual(['maxRecords', 'maxRecords'])
    expect(bounded.readings.reduce((sum, { read, unread }) => sum + read + (unread ?? 0), 0)).toBe(5)

    // Others can still claim every row.
    const claimed = await database.connection((connection) =>
      store.claimPending(
        connection,
        { owner: 'test', version: 1n, timeoutMs: 1_000 },
        { status: 'NEW', limit: 10, maxBytes: 1_000_000, skipRecentMs: 0, floor: null, shards: null },
      ),
    )
    expect(claimed).toHaveLength(3)
  })
}

describe('records that wait in an outbox on SQLite', () => {
  waitingOutboxSuite(() => fromSqlite(new DatabaseSync(':memory:')))
})

describeWith('postgres')('records that wait in an outbox on PostgreSQL', ({ postgres }) => {
  waitingOutboxSuite(() => fromPg(postgres.pool))
})

describeWith('mysql')('records that wait in an outbox on MySQL or MariaDB', ({ mysql }) => {
  waitingOutboxSuite(() => fromMysql2(mysql.pool))
})
