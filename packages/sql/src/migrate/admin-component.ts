import { adminSchema } from '../operation/admin-schema.ts'
import { sharedLogSchema } from '../shared-log/shared-log-tables.ts'
import type { Component } from './migration.ts'

/** The tables of operators: operations, the audit log, and the log that the instances of a fleet share. */
export const adminComponent: Component = {
  name: 'admin',
  defaultTable: false,
  migrations: [
    { version: 1, title: 'operations, audit log', statements: adminSchema },
    { version: 2, title: 'log of a fleet', statements: sharedLogSchema },
  ],
}
