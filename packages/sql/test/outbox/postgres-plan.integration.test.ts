/**
 * Statistics of a queue are wrong most of the time. Whatever they say, a statement must take the index that is made for
 * it: a scan or a sort of all pending rows is not seen with a hundred of them, and stops a service with a million.
 */

import type { RowRef } from '@waybill/outbox/internal'
import { createOutboxStore, fromPg, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  allShards,
  fillOutbox,
  finishes,
  looksForWork,
  recordStatements,
  type SentStatement,
} from './statement-recorder.ts'

const rows = 12_000
const limit = 100

describeWith('postgres')('a statement on PostgreSQL', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  const run = (text: string) => postgres.pool.query(text)

  /** The nodes of a plan that read or sort rows of the table. */
  const planOf = async ({ text, values }: SentStatement): Promise<string[]> => {
    const client = await postgres.pool.connect()
    try {
      await client.query('begin')
      const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, [...values])
      await client.query('rollback')
      return lines
        .map((line) => line['QUERY PLAN'].replace(/^[ >-]*/, ''))
        .filter((line) => /^(?:.*Scan|Sort|Incremental Sort)\b/.test(line) && !/_shard\b|Function|Subquery/.test(line))
    } finally {
      client.release()
    }
  }

  const situations: readonly (readonly [name: string, table: string, prepare: (table: string) => Promise<void>])[] = [
    ['without statistics', 'no_statistics', async () => {}],
    [
      'with those of an hour when nothing was pending',
      'drained',
      async (table) => {
        await run(`update ${table} set status = 1, done_at = now()`)
        await run(`analyze ${table}`)
        await run(`update ${table} set status = 0, done_at = null where seq % 2 = 0`)
      },
    ],
    [
      'with those of an hour when all rows were claimed',
      'claimed',
      async (table) => {
        await run(`update ${table} set locked_by = 'x', locked_at = now()`)
        await run(`analyze ${table}`)
        await run(`update ${table} set locked_by = null, locked_at = null`)
      },
    ],
    [
      'with those of now',
      'fresh',
      async (table) => {
        await run(`update ${table} set status = 1, done_at = now() where seq % 3 = 0`)
        await run(`update ${table} set status = 2 where seq % 50 = 1`)
        await run(`analyze ${table}`)
      },
    ],
  ]

  describe.each(situations)('%s', (_, table, prepare) => {
    const store = createOutboxStore(database, { table })
    let filled: RowRef[] = []
    beforeAll(async () => {
      await migrate(database, { tables: { outbox: table, inbox: false } })
      // No other session may access the table in the meantime.
      await run(`alter table ${table} set (autovacuum_enabled = off)`)
      filled = await fillOutbox(database, store, rows)
      await prepare(table)
    })

    /** Returns the statements that the store sends for a call, without their effect. */
    const sentBy = async (call: ReturnType<typeof looksForWork>[number][2]): Promise<SentStatement[]> => {
      const intended = new Error('rolled back on purpose')
      let sent: SentStatement[] = []
      const rolledBack = database.transaction(async (tx) => {
        const session = recordStatements(database.enlist(tx).currentConnection())
        sent = session.sent
        await call(store, session.connection)
        throw intended
      })
      await expect(rolledBack).rejects.toBe(intended)
      return sent
    }

    test('finds work by its index, in its order', async () => {
      for (const [title, index, look] of looksForWork(10n)) {
        const [statement] = await sentBy(look)
        const plan = await planOf(statement as SentStatement)
        // The rows of one shard may also be sorted: they are few where that is estimated to be cheaper.
        const found = index === 'pending' ? `${table}_${index}` : `Index Scan using ${table}_${index} on ${table}`
        const astray = index === 'pending' ? /Seq Scan/ : /Seq Scan|Sort Key/
        expect({
          title,
          found: plan.some((line) => line.includes(found)) ? found : plan,
          // The sizes of claimable rows are added up in order: a sort of at most a page of numbers.
          astray: plan.filter((line) => astray.test(line) && !line.includes('Sort Key: claimable.')),
        }).toEqual({ title, found, astray: [] })
      }
    })

    test('counts the backlog in its indexes', async () => {
      const [statement] = await sentBy((counted, connection) => counted.backlog(connection, { countUpTo: 10_000 }))
      const plan = await planOf(statement as SentStatement)
      const found = ['new', 'due', 'dead'].filter((index) => plan.some((line) => line.includes(`${table}_${index}`)))
      const astray = plan.filter((line) => /Seq Scan|Sort/.test(line))
      expect({ found, astray }).toEqual({ found: ['new', 'due', 'dead'], astray: [] })
    })

    test('finishes rows by their numbers alone', async () => {
      const leases = await database.connection((connection) => store.takeShards(connection, 'a', allShards, 60_000))
      for (const [title, finish] of finishes(filled.slice(0, limit), leases)) {
        const [statement] = await sentBy(finish)
        const plan = await planOf(statement as SentStatement)
        const indexes = plan.flatMap((line) => /(?:using|Bitmap Index Scan on) (\w+)/.exec(line)?.[1] ?? [])
        const astray = plan.filter((line) => /Seq Scan|Sort/.test(line))
        expect({ title, indexes: [...new Set(indexes)], astray }).toEqual({
          title,
          indexes: [`${table}_pkey`],
          astray: [],
        })
      }
    })
  })
})
