import { defaultOutboxTable } from '../outbox/row/outbox-tables.ts'
import type { Component } from './migration.ts'
import { outboxEventTable } from './outbox-event-table.ts'
import { outboxHistoryTable } from './outbox-history-table.ts'
import { outboxShardTable } from './outbox-shard-table.ts'

/** The tables of an outbox. */
export const outboxComponent: Component = {
  name: 'outbox',
  defaultTable: defaultOutboxTable,
  migrations: [
    { version: 1, title: 'events', statements: outboxEventTable },
    { version: 2, title: 'leases of shards', statements: outboxShardTable },
    { version: 3, title: 'history', statements: outboxHistoryTable },
  ],
}
