import type { SqlDialect } from '../database/sql-database.ts'

/** A step of a component's schema. It never changes once released: databases store its checksum. */
export interface Migration {
  /** Starts at 1 within its component. */
  readonly version: number
  readonly title: string
  /**
   * Returns the statements, each complete and without a semicolon. They only add, so that the previous version
   * continues to work during a rollout. Each can be repeated, because MySQL commits every DDL statement by itself and a
   * migration may have stopped in the middle.
   */
  statements(table: string, dialect: SqlDialect): readonly string[]
}

/** A component with tables, and a migration history per table name. */
export interface Component {
  readonly name: string
  /** False: its tables are created only if they are named. */
  readonly defaultTable: string | false
  /** In ascending order of versions. */
  readonly migrations: readonly Migration[]
}
