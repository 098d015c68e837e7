import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemRuntime } from '@waybill/core'
import { createOutboxStore, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import type {
  NodeUnderTest,
  OutboxStoreCapabilities,
  OutboxStoreHarness,
  OutboxUnderTest,
} from '@waybill/testkit/conformance'

/** Returns a harness of the stores in @waybill/sql: the migrations create tables for each test. */
export function sqlHarness<Tx>(
  name: string,
  capabilities: OutboxStoreCapabilities,
  databases: () => readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
): OutboxStoreHarness {
  let tests = 0
  return {
    name,
    capabilities,
    run: async (test) => test(await openOutbox(`outbox_${++tests}`, databases())),
  }
}

/** Returns a harness of SQLite in a file that two handles have open, as two processes would. */
export function sqliteHarness(): OutboxStoreHarness {
  return {
    name: 'SQLite',
    capabilities: {
      ROW_LOCKS: { absent: 'one transaction at a time writes to a file' },
      OPEN_NUMBERS: { absent: 'what an open transaction writes has higher numbers than all that shows' },
    },
    async run(test) {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-outbox-'))
      const [one, other] = [openSqlite(folder), openSqlite(folder)]
      try {
        await test(await openOutbox('outbox_event', [fromSqlite(one), fromSqlite(other)]))
      } finally {
        one.close()
        other.close()
        await rm(folder, { recursive: true })
      }
    },
  }
}

function openSqlite(folder: string): DatabaseSync {
  const handle = new DatabaseSync(join(folder, 'outbox.db'))
  handle.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  return handle
}

async function openOutbox<Tx>(
  table: string,
  [one, other]: readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
): Promise<OutboxUnderTest> {
  await migrate(one, { tables: { outbox: table } })
  const mark = (position: number): string => (one.dialect === 'postgres' ? `$${position}` : '?')
  return {
    store: createOutboxStore(one, { table }),
    nodes: [nodeOf(one), nodeOf(other)],
    runtime: systemRuntime,
    async spoil(eventId) {
      const text = `UPDATE ${table} SET headers = '["no object"]' WHERE event_id = ${mark(1)}`
      await one.connection((connection) => connection.query(text, [eventId]))
    },
    async reuseNumber(eventId, byEventId) {
      const text = `UPDATE ${table} SET event_id = ${mark(1)} WHERE event_id = ${mark(2)}`
      await one.connection((connection) => connection.query(text, [byEventId, eventId]))
    },
  }
}

function nodeOf<Tx>(database: SqlDatabase<Tx>): NodeUnderTest {
  return {
    connection: (use) => database.connection(use),
    transaction: (work) => database.transaction((tx) => work(database.enlist(tx).currentConnection())),
  }
}
