import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { watchDoubt } from '../database/watch-doubt.ts'
import { type PgClient, type PgResult, pgConnection, pgInTransaction, pgTransactionConnection } from './pg-client.ts'
import { inOnePgTransaction } from './pg-transaction-check.ts'
import { runTransaction } from './run-transaction.ts'
import { watchErrors } from './watch-errors.ts'
import { type IdleClients, watchIdleClients } from './watch-idle-clients.ts'

/** A pool of `pg`. The second signature exists because `pg` also accepts a callback. */
export interface PgPool<Tx extends PgClient> extends IdleClients {
  connect: { (): Promise<Tx>; (callback: never): void }
  readonly options?: { readonly max?: unknown } | undefined
}

/** Creates a database through `pg`: the handle of a transaction is the pool's client. */
export function fromPg<Tx extends PgClient>(pool: PgPool<Tx>): SqlDatabase<Tx> {
  const isPool = hasMethods(pool, 'connect') && !hasMethods(pool, 'getTransactionStatus')
  requireArgument('fromPg', pool, isPool, {
    what: 'a Pool of pg',
    hint: 'Pass new Pool({ connectionString }). A single client would leave none for the outbox.',
  })
  watchIdleClients(pool)
  return createSqlDatabase<Tx>({
    dialect: 'postgres',
    connectionOf: pgTransactionConnection,
    isInTransaction: pgInTransaction,
    knowsTransactions: true,
    poolSize: () => ({ pool, max: pool.options?.max }),
    async begin(body, expected) {
      const client = await pool.connect()
      return runTransaction(pgSession(client), () => inOnePgTransaction(client, () => body(client), expected))
    },
    async lend(use) {
      const client = await pool.connect()
      const watch = watchErrors(client)
      const session = watchDoubt(pgConnection(client))
      try {
        return await use({ ...session.connection, isBroken: () => watch.brokenBy() !== undefined })
      } finally {
        watch.stop()
        // Destroy it also if a transaction is open or a statement is in progress.
        client.release(session.inDoubt() || client.getTransactionStatus() !== 'I')
      }
    },
  })
}

function pgSession(client: PgClient) {
  const watch = watchErrors(client)
  const send = (text: string): Promise<PgResult> => client.query({ text, values: [] })
  return {
    begin: () => send('BEGIN'),
    rollback: () => send('ROLLBACK'),
    // After a failed statement whose error was caught COMMIT succeeds too, but its command tag is ROLLBACK.
    commit: async () =>
      (await send('COMMIT')).command === 'COMMIT' ? ('COMMITTED' as const) : ('ROLLED_BACK' as const),
    brokenBy: watch.brokenBy,
    release(usable: boolean) {
      watch.stop()
      client.release(!usable)
    },
  }
}
