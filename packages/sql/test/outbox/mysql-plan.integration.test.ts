import type { RowRef } from '@waybill/outbox/internal'
import { createOutboxStore, fromMysql2, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import type { RowDataPacket } from 'mysql2/promise'
import { beforeAll, expect, test } from 'vitest'
import {
  allShards,
  fillOutbox,
  finishes,
  looksForWork,
  recordStatements,
  type SentStatement,
} from './statement-recorder.ts'

/** The columns of EXPLAIN that say how rows are found. */
interface PlanRow extends RowDataPacket {
  readonly table: string | null
  readonly type: string | null
  readonly key: string | null
  readonly Extra: string | null
}

const indexNames: Readonly<Record<string, string>> = { new: 'status', pending: 'pending', due: 'due', done: 'status' }

describeWith('mysql')('a statement on MySQL', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  const table = 'planned'
  const store = createOutboxStore(database, { table })
  let filled: RowRef[] = []
  beforeAll(async () => {
    await migrate(database, { tables: { outbox: table, inbox: false } })
    filled = await fillOutbox(database, store, 6_000)
    await mysql.pool.query(`update ${table} set status = 1, done_at = utc_timestamp(6) where seq % 3 = 0`)
    await mysql.pool.query(`update ${table} set status = 2 where seq % 50 = 1`)
  })

  const planOf = async ({ text, values }: SentStatement): Promise<PlanRow[]> => {
    const [plan] = await mysql.pool.query<PlanRow[]>(`explain ${text}`, [...values])
    return plan.filter((row) => row.table === table)
  }

  /** The statements on rows that the store sends for a call. */
  const sentBy = (call: ReturnType<typeof looksForWork>[number][2]): Promise<SentStatement[]> =>
    database.connection(async (connection) => {
      const session = recordStatements(connection)
      await call(store, session.connection)
      return session.sent.filter(({ text }) => text.includes(`\`${table}\``))
    })

  test('finds work by its index, in its order', async () => {
    for (const [title, index, look] of looksForWork(10n)) {
      const [statement] = await sentBy(look)
      const plan = await planOf(statement as SentStatement)
      const sorted = plan.filter(({ Extra }) => Extra?.includes('filesort'))
      const indexes = [...new Set(plan.map(({ key }) => key))]
      expect({ title, indexes, sorted }).toEqual({ title, indexes: [`${table}_${indexNames[index]}`], sorted: [] })
    }
  })

  test('counts the backlog in its indexes', async () => {
    const [statement] = await sentBy((counted, connection) => counted.backlog(connection, { countUpTo: 100 }))
    const plan = await planOf(statement as SentStatement)
    const sorted = plan.filter(({ Extra }) => Extra?.includes('filesort'))
    const indexes = new Set(plan.map(({ key }) => key))
    expect({ indexes, sorted }).toEqual({ indexes: new Set([`${table}_due`, `${table}_status`]), sorted: [] })
  })

  test('finishes rows by their numbers alone', async () => {
    const leases = await database.connection((connection) => store.takeShards(connection, 'a', allShards, 60_000))
    for (const [title, finish] of finishes(filled.slice(0, 100), leases)) {
      for (const statement of await sentBy(finish)) {
        const [row, ...others] = await planOf(statement)
        expect([title, row?.type, row?.key, others]).toEqual([title, 'range', 'PRIMARY', []])
      }
    }
  })
})
