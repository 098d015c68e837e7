import type { SqlConnection } from '@waybill/core'
import { serverAnswerOf } from '../error/server-answer.ts'
import { TransactionRolledBackError } from '../error/sql-errors.ts'
import { type PgClient, pgConnection } from './from-pg.ts'

/**
 * Sees that COMMIT will not become a rollback, for libraries that send it themselves over a client of pg: free as long as
 * the client knows. An error reaches its caller a moment before the server's word on the transaction that follows it, so
 * right after one the server is asked.
 */
export async function checkPgTransaction(client: Pick<PgClient, 'query' | 'getTransactionStatus'>): Promise<void> {
  const { readyForQuery } = client as { readyForQuery?: boolean }
  if (readyForQuery !== true) await askPgTransaction(pgConnection(client))
  if (client.getTransactionStatus() !== 'T') throw new TransactionRolledBackError()
}

/** A failed transaction answers no statement. */
export async function askPgTransaction(connection: SqlConnection): Promise<void> {
  try {
    await connection.query('SELECT 1', [])
  } catch (error) {
    const answer = serverAnswerOf(error)
    const hasFailed = answer?.server === 'POSTGRES' && answer.sqlState === failedTransaction
    throw hasFailed ? new TransactionRolledBackError(error) : error
  }
}

const failedTransaction = '25P02'
