import { DatabaseSync } from 'node:sqlite'
import type { EventCatalog, ListenerRegistry, Runtime, Schemas } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'

export interface SourceOptions<S extends Schemas> {
  readonly name: string
  /** The statement that creates its table. */
  readonly table: string
  readonly events: EventCatalog<S>
  readonly listeners: ListenerRegistry
  readonly runtime: Runtime
}

/** A database with its outbox. */
export interface Source<S extends Schemas> extends AsyncDisposable {
  readonly handle: DatabaseSync
  readonly database: SqlDatabase<DatabaseSync>
  readonly outbox: Outbox<S, DatabaseSync>
}

/** Opens a database in memory, with its tables, and starts its outbox. */
export async function openSource<S extends Schemas>(options: SourceOptions<S>): Promise<Source<S>> {
  const { name, table, events, listeners, runtime } = options
  const handle = new DatabaseSync(':memory:')
  handle.exec(table)
  const database = fromSqlite(handle)
  await migrate(database)
  const store = createOutboxStore(database)
  // The prefix distinguishes the two in metrics, logs and engine events.
  const outbox = Outbox.singleNode({ events, database, store, listeners, runtime, metricsPrefix: `${name}.outbox` })
  await outbox.start()
  return {
    handle,
    database,
    outbox,
    async [Symbol.asyncDispose]() {
      await outbox.stop()
      handle.close()
    },
  }
}
