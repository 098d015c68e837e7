import { requestMarkTable } from '../request/request-mark-table.ts'
import type { Component } from './migration.ts'

/** The table of marks of requests. */
export const requestComponent: Component = {
  name: 'request',
  defaultTable: false,
  migrations: [{ version: 1, title: 'marks of requests', statements: requestMarkTable }],
}
