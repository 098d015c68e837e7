import { DatabaseSync } from 'node:sqlite'
import { type AuditEntry, createEnvelope, type Runtime } from '@waybill/core'
import { createDeadEvents } from '@waybill/outbox'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import type { AdminOutbox } from '../../src/service/admin-outbox.ts'

/** An outbox in a database of its own. */
export interface SqliteOutbox extends Disposable {
  readonly outbox: AdminOutbox
  /** Writes an event of a key, and settles it. */
  readonly write: (status: 'NEW' | 'DONE' | 'DEAD', aggregateId?: string, eventType?: string) => Promise<string>
}

/** Creates an outbox in memory. */
export async function sqliteOutbox(audit: AuditEntry[], runtime: Runtime): Promise<SqliteOutbox> {
  const handle = new DatabaseSync(':memory:')
  const database = fromSqlite(handle)
  await migrate(database, { tables: { outbox: 'outbox_event' } })
  const store = createOutboxStore(database)
  const administration = { permits: () => true, auditLog: { write: (entry: AuditEntry) => void audit.push(entry) } }
  const deadEvents = createDeadEvents({ database, store, throwOnError: true, administration, runtime })
  return {
    outbox: { database, store, deadEvents, mode: 'KEYED' },
    async write(status, aggregateId, eventType = 'order.placed') {
      const payloadJson = '{"total":9007199254740993,"card":{"number":"4111"}}'
      const event = createEnvelope({
        eventType,
        aggregateType: 'order',
        aggregateId: aggregateId ?? null,
        payloadJson,
        headers: { tenant: 'acme' },
      })
      await database.connection(async (connection) => {
        const { seqs } = await store.insertNew(connection, [event], { lease: null, availableAt: null })
        const rows = seqs.map((seq) => ({ seq, eventId: event.eventId, error: 'UnroutableEventError: no listener' }))
        if (status === 'DONE') await store.markDone(connection, rows, { kind: 'NONE' }, { whenDone: 'KEEP' })
        if (status === 'DEAD') await store.markDead(connection, rows, { kind: 'NONE' })
      })
      // Long ago, also for a world whose clock is behind the database's.
      if (status === 'DEAD') handle.exec('UPDATE outbox_event SET done_at = 1000 WHERE status = 3')
      return event.eventId
    },
    [Symbol.dispose]: () => handle.close(),
  }
}
