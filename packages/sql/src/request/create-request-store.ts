import type { RequestStore } from '@waybill/core/idempotency'
import { integer, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { defaultRequestTable, RequestTable } from './request-table.ts'

/** Options of a store of request marks. */
export interface RequestStoreOptions {
  /** The table of marks; on PostgreSQL it may include a schema. @defaultValue `request_mark` */
  readonly table?: string | undefined
}

/** A store of request marks in a database. */
export interface SqlRequestStore extends RequestStore {
  /** Deletes marks whose time is over. @returns how many; if that equals the limit, there may be more */
  purge(purge?: { readonly limit?: number | undefined }): Promise<number>
}

/**
 * Creates a store of request marks in a database, shared by all nodes.
 * `migrate(database, { tables: { request: 'request_mark' } })` creates the table. Its statements have sessions of their
 * own, outside any transaction: a mark has to be visible at once. Expired marks stay in the table until `purge`.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createRequestStore<Tx>(database: SqlDatabase<Tx>, options: RequestStoreOptions = {}): SqlRequestStore {
  requireDatabase('createRequestStore', database)
  const { table } = resolveOptions('createRequestStore', optionRules, options)
  const marks = new RequestTable(table, database.dialect)
  return {
    read: (name) => database.connection((connection) => marks.read(connection, name)),
    compareAndSet: (name, expected, mark, ttlMs) =>
      database.connection(async (connection) => {
        if (expected !== null) return marks.replace(connection, name, expected, mark, ttlMs)
        if (await marks.insert(connection, name, mark, ttlMs)) return true
        return marks.replace(connection, name, null, mark, ttlMs)
      }),
    compareAndDelete: (name, expected) => database.connection((connection) => marks.remove(connection, name, expected)),
    purge(purge = {}) {
      const { limit } = resolveOptions('purge', purgeRules, purge)
      return database.connection((connection) => marks.purge(connection, limit))
    },
  }
}

const optionRules = {
  table: text({ default: defaultRequestTable, because: 'all services of a database can share it' }),
}

const purgeRules = {
  limit: integer({ default: 1_000, min: 1, max: 10_000, because: 'a statement takes a few milliseconds' }),
}
