import { ArgumentError, NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { endedByApplication } from '../error/sql-errors.ts'
import type { ErrorEmitter } from './watch-errors.ts'

/** The used part of a `pg` client. */
export interface PgClient extends ErrorEmitter {
  query(statement: { text: string; values: unknown[] }): Promise<PgResult>
  /** Returns the status in the server's last response: I outside a transaction, T in one, E in a failed one. */
  getTransactionStatus(): string | null
  release(destroy?: boolean): void
}

export interface PgResult {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number | null
  readonly command: string
}

/** Whether the server reported the client as inside a transaction. */
export function pgInTransaction(client: Pick<PgClient, 'getTransactionStatus'>): boolean {
  if (typeof client.getTransactionStatus !== 'function') {
    throw new ArgumentError('The handle is not a pg client with getTransactionStatus()', {
      impact: 'Nothing was written.',
      hint:
        'Pass the tx of database.transaction(async (tx) => …), or a client of pool.connect() on which you sent BEGIN. ' +
        'getTransactionStatus() requires a recent version of pg, such as 8.23.',
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
 * Closes a client of a pool, which notices when the client is released. With a statement in progress pg ends the
 * connection at once, and the server rolls back.
 */
export async function closePgClient(client: PgClient): Promise<void> {
  // Pooled clients have end() too, but not in the types of pg, since users of a pool are not to call it.
  await (client as { end?: () => Promise<void> }).end?.()
}

/**
 * Returns the connection of a transaction. If the application itself sent ROLLBACK or COMMIT, a further statement would
 * commit by itself, so it is rejected.
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
