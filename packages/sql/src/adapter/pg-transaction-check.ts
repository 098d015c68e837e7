import { NoTransactionError, type SqlConnection } from '@waybill/core'
import { serverAnswerOf } from '../error/server-answer.ts'
import { endedByApplication, TransactionRolledBackError } from '../error/sql-errors.ts'
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

/** Only taken inside a transaction, and what every statement takes anyway: PostgreSQL has no variable that tells. */
const probe = 'LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE'

const failedTransaction = '25P02'
const noTransaction = '25P01'
const writes = /^\s*(insert|update|delete)\b/i

/** Asks the server, where the client does not tell: a transaction that failed, or that the application has ended. */
export async function askPgTransaction(connection: SqlConnection): Promise<void> {
  try {
    await connection.query(probe, [])
  } catch (error) {
    const isOver = [failedTransaction, noTransaction].includes(stateOf(error) ?? '')
    throw isOver ? new TransactionRolledBackError(error) : error
  }
}

/**
 * The connection of a transaction, for libraries that do not notice when a statement of the application ends it: the next
 * write would be committed by itself. So the server is asked before each one, by a statement more.
 */
export function guardedPgConnection(connection: SqlConnection): SqlConnection {
  return {
    async query(text, values) {
      if (writes.test(text)) await connection.query(probe, []).catch(rethrowEnded)
      return connection.query(text, values)
    },
  }
}

function rethrowEnded(error: unknown): never {
  throw stateOf(error) === noTransaction ? new NoTransactionError(endedByApplication, error) : error
}

function stateOf(error: unknown): string | undefined {
  const answer = serverAnswerOf(error)
  return answer?.server === 'POSTGRES' ? answer.sqlState : undefined
}
