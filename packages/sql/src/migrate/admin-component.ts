import { letterSchema } from '../dead-letter/letter-schema.ts'
import { adminSchema } from '../operation/admin-schema.ts'
import { sharedLogSchema } from '../shared-log/shared-log-tables.ts'
import type { Component } from './migration.ts'

/** The tables of operators: operations, the audit log, the log that the instances of a fleet share, the dead letter index. */
export const adminComponent: Component = {
  name: 'admin',
  defaultTable: false,
  migrations: [
    { version: 1, title: 'operations, audit log', statements: adminSchema },
    { version: 2, title: 'log of a fleet', statements: sharedLogSchema },
    { version: 3, title: 'dead letter index', statements: letterSchema },
  ],
}
