import type { SqlDatabase } from '../../src/database/sql-database.ts'

/** One library, opened for a test. */
export interface OpenedLibrary<Tx> {
  readonly database: SqlDatabase<Tx>
  /** Runs a statement through the library's own API: a business statement. */
  readonly run: (tx: Tx, text: string) => Promise<unknown>
  /** Runs the work in a transaction that the library opens without the adapter. */
  readonly ownTransaction: (work: (tx: Tx) => Promise<void>) => Promise<unknown>
  /** Hands in a handle that is in no transaction. */
  readonly outside: (use: (handle: Tx) => Promise<void>) => Promise<void>
  readonly close: () => Promise<void>
  /** Whether a statement that would end a transaction of the adapter is refused. @defaultValue false */
  readonly refusesEnds?: boolean
}

/** A database as an independent witness sees it. */
export interface Witness {
  /** The address that the libraries under test connect to. Null: no proxy in between. */
  readonly url: string | null
  createTable(): Promise<void>
  clear(): Promise<void>
  /** The committed ids, in order. */
  ids(): Promise<string[]>
}
