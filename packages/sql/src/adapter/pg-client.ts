import { ArgumentError, NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { endedByApplication } from '../error/sql-errors.ts'
import type { ErrorEmitter } from './watch-errors.ts'

/** A client of `pg`, as far as it is used here. */
export interface PgClient extends ErrorEmitter {
  query(statement: { text: string; values: unknown[] }): Promise<PgResult>
  /** The server's own word at the end of its last answer: I outside a transaction, T in one, E in a failed one. */
  getTransactionStatus(): string | null
  release(destroy?: boolean): void
}

export interface PgResult {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number | null
  readonly command: string
}

/** Whether the server said that the client is inside a transaction. */
export function pgInTransaction(client: Pick<PgClient, 'getTransactionStatus'>): boolean {
  if (typeof client.getTransactionStatus !== 'function') {
    throw new ArgumentError('The handle is not a client of pg that tells whether it is in a transaction', {
      impact: 'Nothing was written.',
      hint:
        'Hand in the tx of database.transaction(async (tx) => …), or the client of pool.connect() that you have sent BEGIN; ' +
        'of a version of pg that has getTransactionStatus(): 8.23 has it.',
    })
  }
  const status = client.getTransactionStatus()
  return status === 'T' || status === 'E'
}

export function pgConnection(client: Pick<PgClient, 'query'>): SqlConnection {
  return {
    async query(text, values) {
      const { rows, rowCount } = await client.query({ text, values: [...values] })
      return { rows, changed: rowCount ?? 0 }
    },
  }
}

/**
 * Closes a client that belongs to somebody's pool, which sees that when it gets it back. With a statement under way pg ends
 * the connection at once, and the server rolls back.
 */
export async function closePgClient(client: PgClient): Promise<void> {
  // A client of a pool has it too, but not in the types of pg, since a pool's user is to leave it alone.
  await (client as { end?: () => Promise<void> }).end?.()
}

/**
 * The connection of a transaction. Where the application itself has sent ROLLBACK or COMMIT, the next statement would be
 * committed by itself: it is refused.
 */
export function pgTransactionConnection(client: Pick<PgClient, 'query' | 'getTransactionStatus'>): SqlConnection {
  const connection = pgConnection(client)
  return {
    async query(text, values) {
      if (!pgInTransaction(client)) throw new NoTransactionError(endedByApplication)
      return connection.query(text, values)
    },
  }
}
