import { DatabaseSync } from 'node:sqlite'
import { createEnvelope, type EventEnvelope } from '@waybill/core'
import type { OutboxStore } from '@waybill/outbox'
import type { PurgeRequest } from '@waybill/outbox/internal'
import { createOutboxStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { beforeAll, describe, expect, test } from 'vitest'

const noFence = { kind: 'NONE' } as const
const ofDone = { kind: 'FINISHED', status: 'DONE', olderThanMs: 0, limit: 2, archive: true } as const

/** Checks purges that move rows to the history. */
function behaves<Tx>(database: SqlDatabase<Tx>): void {
  let store: OutboxStore
  let tables = 0
  let table = ''
  beforeAll(async () => {
    await migrate(database, { tables: { outbox: 'archived', inbox: false } })
  })

  const query = (text: string) => database.connection(async (connection) => (await connection.query(text, [])).rows)
  const history = () =>
    query(`SELECT event_id, status, attempts, aggregate_id, last_error FROM ${table}_history ORDER BY seq`)
  const cast = (column: string) => (database.dialect === 'mysql' ? column : `CAST(${column} AS text)`)
  const texts = async (name: string) => {
    const [row] = await query(`SELECT ${cast('payload')} AS payload, ${cast('headers')} AS headers FROM ${name}`)
    return row
  }
  const purge = (request: PurgeRequest) => database.connection((connection) => store.purge(connection, request))

  /** Fills a table of its own with events, of which some are marked. */
  async function fill(count: number, mark: (index: number) => 'DONE' | 'DEAD' | undefined): Promise<EventEnvelope[]> {
    table = `archived_${++tables}`
    await migrate(database, { tables: { outbox: table, inbox: false } })
    store = createOutboxStore(database, { table })
    const events = Array.from({ length: count }, (_, n) =>
      createEnvelope({
        eventType: 'order.placed',
        aggregateId: `o-${n}`,
        payloadJson: `{"n":${n}, "text":"é\u{1f680}"}`,
        headers: { 'x-trace': `t-${n}` },
      }),
    )
    const { seqs } = await database.transaction((tx) =>
      store.insertNew(database.enlist(tx).currentConnection(), events, { lease: null, availableAt: null }),
    )
    for (const [index, { eventId }] of events.entries()) {
      const row = { seq: seqs[index] as bigint, eventId }
      const status = mark(index)
      await database.connection(async (connection) => {
        if (status === 'DONE') await store.markDone(connection, [row], noFence, { whenDone: 'KEEP' })
        if (status === 'DEAD')
          await store.markDead(connection, [{ ...row, error: 'no', failureType: 'TIMEOUT' }], noFence)
      })
    }
    // Its clock counts milliseconds, and the purge may come within the same one.
    if (database.dialect === 'sqlite') await query(`UPDATE ${table} SET done_at = done_at - 1`)
    return events
  }

  const statuses = (events: readonly EventEnvelope[]) =>
    database.connection((connection) =>
      store.statusOf(
        connection,
        events.map(({ eventId }) => eventId),
      ),
    )

  test('S4-037 moves rows to the history, bounded, and none of the others', async () => {
    const events = await fill(5, (index) => (index < 3 ? 'DONE' : index === 3 ? 'DEAD' : undefined))
    expect([await purge(ofDone), await purge(ofDone), await purge(ofDone)]).toEqual([2, 1, 0])
    expect(await history()).toMatchObject(
      events.slice(0, 3).map(({ eventId, aggregateId }) => ({ event_id: eventId, aggregate_id: aggregateId })),
    )
    expect([...(await statuses(events)).values()].toSorted()).toEqual(['DEAD', 'NEW'])
    expect(await purge({ ...ofDone, status: 'DEAD' })).toBe(1)
    expect((await history())[3]).toMatchObject({ attempts: 1, last_error: '[TIMEOUT] no' })
  })

  test('keeps payload and headers as they were', async () => {
    const [event] = await fill(1, () => 'DONE')
    const before = await texts(table)
    expect(before?.['payload']).toBe(event?.payloadJson)
    await purge(ofDone)
    expect(await texts(`${table}_history`)).toEqual(before)
  })

  test('leaves rows alone until their time has passed', async () => {
    await fill(1, () => 'DONE')
    expect(await purge({ ...ofDone, olderThanMs: 60_000 })).toBe(0)
    expect(await history()).toEqual([])
  })

  test('moves each row once, however many purge at the same time', async () => {
    const events = await fill(8, () => 'DONE')
    const work = async () => {
      let moved = 0
      // A purge that lost a lock moves the rest in its next run.
      for (let runs = 0; runs < 20 && (await statuses(events)).size > 0; runs++)
        moved += await purge(ofDone).catch(() => 0)
      return moved
    }
    const moved = await Promise.all([work(), work()])
    expect(moved[0] + moved[1]).toBe(8)
    expect((await history()).map((row) => row['event_id'])).toEqual(events.map(({ eventId }) => eventId))
  })

  test('is not blocked by a row that is in the history already, as after a restored backup', async () => {
    const [event] = await fill(1, () => 'DONE')
    const seq = (await query(`SELECT seq FROM ${table}`))[0]?.['seq']
    const columns =
      'seq, event_id, event_type, aggregate_type, payload, status, attempts, created_at, done_at, occurred_at, shard'
    await query(
      `INSERT INTO ${table}_history (${columns}, archived_at) SELECT ${columns}, created_at FROM ${table} WHERE seq = ${String(seq)}`,
    )
    expect(await purge(ofDone)).toBe(1)
    expect(await history()).toMatchObject([{ event_id: event?.eventId }])
    expect(await query(`SELECT seq FROM ${table}`)).toEqual([])
  })
}

describe('a purge that archives on SQLite', () => behaves(fromSqlite(new DatabaseSync(':memory:'))))

describeWith('postgres')('a purge that archives', ({ postgres }) => behaves(fromPg(postgres.pool)))

describeWith('mysql')('a purge that archives', ({ mysql }) => {
  behaves(fromMysql2(mysql.pool))

  test('leaves a dead row that is replayed meanwhile', async () => {
    const database = fromMysql2(mysql.pool)
    await migrate(database, { tables: { outbox: 'replayed', inbox: false } })
    const store = createOutboxStore(database, { table: 'replayed' })
    const event = createEnvelope({ eventType: 'order.placed', aggregateId: 'o-1', payloadJson: '{}' })
    const { seqs } = await database.transaction((tx) =>
      store.insertNew(database.enlist(tx).currentConnection(), [event], { lease: null, availableAt: null }),
    )
    const row = { seq: seqs[0] as bigint, eventId: event.eventId, error: 'no' }
    await database.connection((connection) => store.markDead(connection, [row], noFence))
    // Between the query that finds the row and the one that locks it.
    const moved = await database.connection((connection) =>
      store.purge(
        {
          ...connection,
          query: async (text, values) => {
            const answer = await connection.query(text, values)
            if (/SELECT seq FROM \(SELECT seq, done_at/.test(text))
              await database.connection((other) => store.replayDead(other, [event.eventId]))
            return answer
          },
        },
        { ...ofDone, status: 'DEAD' },
      ),
    )
    expect(moved).toBe(0)
    const { rows } = await database.connection((connection) => connection.query('SELECT * FROM replayed_history', []))
    expect(rows).toEqual([])
    expect(await database.connection((connection) => store.statusOf(connection, [event.eventId]))).toEqual(
      new Map([[event.eventId, 'NEW']]),
    )
  })
})
