import { NoTransactionError, StateError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import type { ExpectedEnd } from '../database/library.ts'
import { isFailedTransaction, isOutsideTransaction } from '../error/postgres-state.ts'
import {
  begunAnother,
  endedByApplication,
  TransactionEndedError,
  TransactionRolledBackError,
} from '../error/sql-errors.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { closePgClient, type PgClient, pgConnection } from './pg-client.ts'
import { rolledBackAfterFailure } from './rolled-back-after-failure.ts'
import { watchPgEnds } from './watch-pg-ends.ts'

type CheckedClient = Pick<PgClient, 'query' | 'getTransactionStatus'>

/**
 * Runs the body in the open transaction of a client, and sees afterwards that this very transaction is still open: free as
 * long as the client knows and the work has sent nothing that could have ended it.
 */
export async function inOnePgTransaction<T>(
  client: CheckedClient,
  body: () => Promise<T>,
  expected: ExpectedEnd,
): Promise<T> {
  const ends = watchPgEnds(client)
  try {
    const value = await body()
    await checkStatus(client)
    if (expected.transactions.size > 0 && ends.mayHaveEnded()) await askPgTransaction(pgConnection(client), expected)
    return value
  } finally {
    ends.stop()
  }
}

/**
 * A transaction of a library that sends COMMIT and ROLLBACK itself, over a client of pg that it shows. The library would give
 * back a client whose ROLLBACK got no answer, so a failed transaction is rolled back here first. And it may tell of its own
 * ROLLBACK's failure, where what the body threw tells more.
 */
export async function commitOverPg<Tx, T>(steps: {
  readonly transaction: (work: (tx: Tx) => Promise<T>) => Promise<T>
  readonly clientOf: (tx: Tx) => PgClient | Promise<PgClient>
  readonly body: (tx: Tx) => Promise<T>
  readonly expected: ExpectedEnd
}): Promise<T> {
  const { transaction, clientOf, body, expected } = steps
  let failure: { readonly error: unknown } | undefined
  try {
    return await commitByLibrary({
      transaction,
      body: async (tx) => {
        const client = await clientOf(tx)
        return pgRolledBackAfterFailure(client, () =>
          inOnePgTransaction(client, () => body(tx), expected).catch((error: unknown) => {
            failure = { error }
            throw error
          }),
        )
      },
    })
  } catch (error) {
    throw failure === undefined ? error : failure.error
  }
}

/** {@link rolledBackAfterFailure} on a client of pg, which a pool drops once it is closed. */
export function pgRolledBackAfterFailure<T>(
  client: PgClient,
  use: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  return rolledBackAfterFailure(pgConnection(client), use, () => closePgClient(client))
}

/**
 * An error reaches its caller a moment before the server's word on the transaction that follows it, so right after one the
 * server is asked.
 */
async function checkStatus(client: CheckedClient): Promise<void> {
  const { readyForQuery } = client as { readyForQuery?: boolean }
  if (readyForQuery !== true) await refuseEnded(pgConnection(client).query(probe, []))
  const status = client.getTransactionStatus()
  if (status === 'E') throw new TransactionRolledBackError()
  if (status !== 'T') throw new TransactionEndedError()
}

/** Only taken inside a transaction, and what every statement takes anyway: PostgreSQL has no variable that tells. */
const probe = 'LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE'

/** The server's name for the transaction, if it has written anything. */
const transactionName = 'SELECT pg_current_xact_id_if_assigned()::text AS name'

const writes = /^\s*(insert|update|delete)\b/i

/**
 * Asks the server, where the client does not tell: for a transaction that failed, or that the application has ended, also
 * if it has begun another.
 */
export async function askPgTransaction(connection: SqlConnection, { transactions }: ExpectedEnd): Promise<void> {
  const { rows } = await refuseEnded(connection.query(transactions.size === 0 ? probe : transactionName, []))
  const name = rows[0]?.['name']
  if ([...transactions].every((transaction) => transaction === name)) return
  throw typeof name === 'string' ? new TransactionEndedError(new StateError(begunAnother)) : new TransactionEndedError()
}

async function refuseEnded<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (isFailedTransaction(error)) throw new TransactionRolledBackError(error)
    throw isOutsideTransaction(error) ? new TransactionEndedError(error) : error
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
  throw isOutsideTransaction(error) ? new NoTransactionError(endedByApplication, error) : error
}
