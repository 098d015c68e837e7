import type { SqlDatabase } from '@waybill/sql'
import type { SqlSession } from './sql-session.ts'

/** The service's database, behind whichever driver. */
export interface OrderDatabase<Tx> extends AsyncDisposable {
  readonly database: SqlDatabase<Tx>
  /** Statements within a transaction of `database`. */
  readonly within: (tx: Tx) => SqlSession
  /** Statements outside any transaction. They see committed rows only. */
  readonly reads: SqlSession
  /** Whether an error says that a row with this unique key, or a table or index of this name, exists. */
  readonly isDuplicate: (error: unknown) => boolean
  /** Returns the share of connections that were busy since the last reading; 0 where there is no pool. */
  readonly saturation: () => number
}
