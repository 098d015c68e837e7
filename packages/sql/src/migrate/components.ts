import { adminComponent } from './admin-component.ts'
import { inboxComponent } from './inbox-component.ts'
import type { Component } from './migration.ts'
import { outboxComponent } from './outbox-component.ts'
import { projectionComponent } from './projection-component.ts'
import { requestComponent } from './request-component.ts'

/** The components that have tables. */
export type ComponentName = 'outbox' | 'inbox' | 'projection' | 'request' | 'admin'

/** All components with tables, in the order their tables are created. */
export const components: Readonly<Record<ComponentName, Component>> = {
  outbox: outboxComponent,
  inbox: inboxComponent,
  projection: projectionComponent,
  request: requestComponent,
  admin: adminComponent,
}
