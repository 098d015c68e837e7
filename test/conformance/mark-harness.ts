import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { IdempotencyStore } from '@waybill/core'
import { systemRuntime } from '@waybill/core'
import { createIdempotencyStore, createInbox, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import type { IdempotencyStoreHarness, MarksUnderTest } from '@waybill/testkit/conformance'

/** Returns a harness of stores without transactions: `open` creates one per node, on marks of its own per test. */
export function plainHarness(
  name: string,
  absent: string,
  open: (test: number) => readonly [IdempotencyStore, IdempotencyStore],
): IdempotencyStoreHarness {
  let tests = 0
  return {
    name,
    capabilities: { TRANSACTIONS: { absent } },
    run: async (test) => test({ stores: open(++tests), inbox: null, runtime: systemRuntime }),
  }
}

/** Returns a harness of the stores in @waybill/sql: the migrations create tables for each test. */
export function sqlMarkHarness<Tx>(
  name: string,
  databases: () => readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
): IdempotencyStoreHarness {
  let tests = 0
  return {
    name,
    capabilities: { TRANSACTIONS: true },
    run: async (test) => test(await openMarks(`mark_${++tests}`, databases())),
  }
}

/** Returns a harness of SQLite in a file that two handles have open, as two processes would. */
export function sqliteMarkHarness(): IdempotencyStoreHarness {
  return {
    name: 'SQLite',
    capabilities: { TRANSACTIONS: true },
    async run(test) {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-marks-'))
      const [one, other] = [openSqlite(folder), openSqlite(folder)]
      try {
        await test(await openMarks('inbox_mark', [fromSqlite(one), fromSqlite(other)]))
      } finally {
        one.close()
        other.close()
        await rm(folder, { recursive: true })
      }
    },
  }
}

function openSqlite(folder: string): DatabaseSync {
  const handle = new DatabaseSync(join(folder, 'marks.db'))
  handle.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  return handle
}

async function openMarks<Tx>(
  table: string,
  [one, other]: readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
): Promise<MarksUnderTest> {
  await migrate(one, { tables: { outbox: false, inbox: table } })
  const effects = `${table}_effect`
  await one.connection((connection) => connection.query(`CREATE TABLE ${effects} (name varchar(40))`, []))
  const store = createIdempotencyStore(one, { table })
  const placeholder = one.dialect === 'postgres' ? '$1' : '?'
  return {
    runtime: systemRuntime,
    stores: [store, createIdempotencyStore(other, { table })],
    inbox: {
      inboxes: [createInbox(one, { table }), createInbox(other, { table })],
      transaction: (work) => one.transaction(work),
      markWithin: (tx, consumer, key) => store.markWithin(tx as Tx, consumer, key),
      async affect(_tx, text) {
        const current = one.ambient.isTransactionActive() ? one.ambient : other.ambient
        await current.currentConnection().query(`INSERT INTO ${effects} (name) VALUES (${placeholder})`, [text])
      },
      async effects() {
        const { rows } = await one.connection((connection) => connection.query(`SELECT name FROM ${effects}`, []))
        return rows.map(({ name }) => String(name))
      },
    },
  }
}
