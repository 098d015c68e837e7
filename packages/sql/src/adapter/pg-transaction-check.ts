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
 * Runs the body in the open transaction of a client, and then checks that this very transaction is still open. The
 * check is free if the client exposes it and no statement of the work could have ended the transaction.
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
 * Runs a transaction of a library that sends COMMIT and ROLLBACK itself, over an accessible pg client. The library
 * would release a client whose ROLLBACK got no response, so a failed transaction is rolled back here first. And it may
 * report the failure of its own ROLLBACK, while the body's error says more.
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
 * Checks the client's transaction status. An error reaches its caller just before the status that follows it, so right
 * after an error the server is queried.
 */
async function checkStatus(client: CheckedClient): Promise<void> {
  const { readyForQuery } = client as { readyForQuery?: boolean }
  if (readyForQuery !== true) await refuseEnded(pgConnection(client).query(probe, []))
  const status = client.getTransactionStatus()
  if (status === 'E') throw new TransactionRolledBackError()
  if (status !== 'T') throw new TransactionEndedError()
}

/**
 * Allowed only inside a transaction, with a lock that every statement takes anyway: PostgreSQL has no variable for
 * this.
 */
const probe = 'LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE'

/** The server's name of the transaction, if it has written anything. */
const transactionName = 'SELECT pg_current_xact_id_if_assigned()::text AS name'

const writes = /^\s*(insert|update|delete)\b/i

/**
 * Queries the server if the client does not expose the status. Detects a transaction that failed, or that the
 * application ended, even if it began another.
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
 * Wraps the connection of a transaction for libraries that do not notice when a statement of the application ends it:
 * the next write would commit by itself. Costs one statement per write.
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
