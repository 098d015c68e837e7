import { DatabaseSync } from 'node:sqlite'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import { expect, onTestFinished, test } from 'vitest'
import {
  allShards,
  fillOutbox,
  finishes,
  looksForWork,
  recordStatements,
  type SentStatement,
} from './statement-recorder.ts'

async function openOutbox() {
  const handle = new DatabaseSync(':memory:')
  onTestFinished(() => handle.close())
  const database = fromSqlite(handle)
  await migrate(database)
  const store = createOutboxStore(database)
  const rows = await fillOutbox(database, store, 200)
  const planOf = ({ text, values }: SentStatement): string[] =>
    handle
      .prepare(`explain query plan ${text}`)
      .all(...(values as (string | number)[]))
      .map((row) => String(row['detail']))
  const sentBy = (call: ReturnType<typeof looksForWork>[number][2]): Promise<SentStatement[]> =>
    database.connection(async (connection) => {
      const session = recordStatements(connection)
      await call(store, session.connection)
      return session.sent
    })
  return { database, store, rows, planOf, sentBy }
}

test('a statement on SQLite finds work by its index, in its order', async () => {
  const { planOf, sentBy } = await openOutbox()
  for (const [title, index, look] of looksForWork(10n)) {
    const [statement] = await sentBy(look)
    const plan = planOf(statement as SentStatement)
    const found = plan.some((line) => line.includes(`outbox_event_${index}`))
    const astray = plan.filter((line) => /TEMP B-TREE|^SCAN outbox_event$/.test(line))
    expect({ title, found, astray }).toEqual({ title, found: true, astray: [] })
  }
})

test('a statement on SQLite counts the backlog in its indexes', async () => {
  const { planOf, sentBy } = await openOutbox()
  const [statement] = await sentBy((store, connection) => store.backlog(connection, { countUpTo: 100 }))
  const plan = planOf(statement as SentStatement)
  const found = ['new', 'due', 'dead'].filter((index) => plan.some((line) => line.includes(`outbox_event_${index}`)))
  const astray = plan.filter((line) => /TEMP B-TREE|^SCAN outbox_event$/.test(line))
  expect({ found, astray }).toEqual({ found: ['new', 'due', 'dead'], astray: [] })
})

test('a statement on SQLite finishes rows by their numbers alone', async () => {
  const { database, store, rows, planOf, sentBy } = await openOutbox()
  const leases = await database.connection((connection) => store.takeShards(connection, 'a', allShards, 60_000))
  for (const [title, finish] of finishes(rows.slice(0, 20), leases)) {
    const [statement] = await sentBy(finish)
    const [first] = planOf(statement as SentStatement)
    expect([title, first]).toEqual([title, 'SEARCH outbox_event USING INTEGER PRIMARY KEY (rowid=?)'])
  }
})
