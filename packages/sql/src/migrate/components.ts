import { inboxComponent } from './inbox-component.ts'
import type { Component } from './migration.ts'
import { outboxComponent } from './outbox-component.ts'

/** What has tables of its own. */
export type ComponentName = 'outbox' | 'inbox'

/** Everything that has tables, in the order they are made. */
export const components: Readonly<Record<ComponentName, Component>> = {
  outbox: outboxComponent,
  inbox: inboxComponent,
}
