import { ArgumentError, NoTransactionError, type SqlConnection } from '@waybill/core'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { endedByApplication } from '../error/sql-errors.ts'
import { runTransaction } from './run-transaction.ts'
import { watchDoubt } from './watch-doubt.ts'
import { type ErrorEmitter, watchErrors } from './watch-errors.ts'
import { type IdleClients, watchIdleClients } from './watch-idle-clients.ts'

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

/** A pool of `pg`. The second signature is there because `pg` also takes a callback. */
export interface PgPool<Tx extends PgClient> extends IdleClients {
  connect: { (): Promise<Tx>; (callback: never): void }
}

/** A database through `pg`: the handle of a transaction is the pool's client. */
export function fromPg<Tx extends PgClient>(pool: PgPool<Tx>): SqlDatabase<Tx> {
  watchIdleClients(pool)
  return createSqlDatabase<Tx>({
    dialect: 'postgres',
    connectionOf: pgTransactionConnection,
    isInTransaction: pgInTransaction,
    async begin(body) {
      const client = await pool.connect()
      return runTransaction(pgSession(client), () => body(client))
    },
    async lend(use) {
      const client = await pool.connect()
      const watch = watchErrors(client)
      const session = watchDoubt(pgConnection(client))
      try {
        return await use(session.connection)
      } finally {
        watch.stop()
        // Also one with a transaction left open, or whose statement is still under way.
        client.release(session.inDoubt() || client.getTransactionStatus() !== 'I')
      }
    },
  })
}

/** Whether the server said that the client is inside a transaction. */
export function pgInTransaction(client: Pick<PgClient, 'getTransactionStatus'>): boolean {
  if (typeof client.getTransactionStatus !== 'function') {
    throw new ArgumentError('The handle is not a client of pg that tells whether it is in a transaction', {
      kept: 'Nothing was written.',
      next: 'Hand in the client of pool.connect(), of a version of pg that has getTransactionStatus(): 8.23 has it.',
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

function pgSession(client: PgClient) {
  const watch = watchErrors(client)
  const send = (text: string): Promise<PgResult> => client.query({ text, values: [] })
  return {
    begin: () => send('BEGIN'),
    rollback: () => send('ROLLBACK'),
    // After a failed statement whose error was caught COMMIT succeeds too, and its answer is ROLLBACK. Where the application
    // has ended the transaction itself it is COMMIT, although nothing was left to be committed.
    commit: async () => pgInTransaction(client) && (await send('COMMIT')).command === 'COMMIT',
    brokenBy: watch.brokenBy,
    release(usable: boolean) {
      watch.stop()
      client.release(!usable)
    },
  }
}
