import { inboxMarkTable } from '../inbox/inbox-mark-table.ts'
import { defaultInboxTable } from '../inbox/mark-table.ts'
import type { Component } from './migration.ts'

/** The table of marks for inboxes and idempotency stores. */
export const inboxComponent: Component = {
  name: 'inbox',
  defaultTable: defaultInboxTable,
  migrations: [{ version: 1, title: 'marks', statements: inboxMarkTable }],
}
