import type { SqlDialect } from '../database/sql-database.ts'

/** A step of a component's tables. Once released it never changes: databases remember its checksum. */
export interface Migration {
  /** From 1 upwards within its component. */
  readonly version: number
  readonly title: string
  /**
   * The statements, each complete and without a semicolon. They only add, so that the version before can go on working
   * while this one is rolled out; and each can be repeated, because MySQL commits every DDL statement by itself and a
   * migration may have stopped in the middle.
   */
  statements(table: string, dialect: SqlDialect): readonly string[]
}

/** What has tables of its own, with a history of its own for each name they are given. */
export interface Component {
  readonly name: string
  readonly defaultTable: string
  /** By rising version. */
  readonly migrations: readonly Migration[]
}
