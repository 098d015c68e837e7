import type { TxContext } from '@waybill/core'
import type { SqlResult } from '@waybill/core/internal'
import type { SqlDatabase } from '../../src/database/sql-database.ts'

/** Writes a row over the connection of a transaction, as the outbox does. */
export async function writeWith(
  database: Pick<SqlDatabase<unknown>, 'dialect'>,
  context: TxContext,
  id: string,
): Promise<SqlResult> {
  return context.currentConnection().query(`INSERT INTO things (id) VALUES (${placeholder(database.dialect)})`, [id])
}

export function placeholder(dialect: SqlDatabase<unknown>['dialect']): string {
  return dialect === 'postgres' ? '$1' : '?'
}
