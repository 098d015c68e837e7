import { projectionSchema } from '../projection/projection-schema.ts'
import type { Component } from './migration.ts'

/** The bookkeeping tables of projections. */
export const projectionComponent: Component = {
  name: 'projection',
  defaultTable: false,
  migrations: [{ version: 1, title: 'builds, positions, quarantine', statements: projectionSchema }],
}
