import { adminSchema } from '../operation/admin-schema.ts'
import type { Component } from './migration.ts'

/** The tables of operators: operations and the audit log. */
export const adminComponent: Component = {
  name: 'admin',
  defaultTable: false,
  migrations: [{ version: 1, title: 'operations, audit log', statements: adminSchema }],
}
