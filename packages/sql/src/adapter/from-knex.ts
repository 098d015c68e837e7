import { ArgumentError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { PoolSize } from '../database/pool-room.ts'
import { refuseTransaction, requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { type Mysql2Connection, mysql2Connection } from './from-mysql2.ts'
import { MysqlTransactionGuard } from './mysql-transaction-guard.ts'
import { type PgClient, pgTransactionConnection } from './pg-client.ts'
import { commitOverPg, pgRolledBackAfterFailure } from './pg-transaction-check.ts'
import { rolledBackAfterFailure } from './rolled-back-after-failure.ts'

/** The used part of a Knex instance or transaction. */
export interface KnexHandle {
  readonly client: KnexClient
  readonly isTransaction?: boolean | undefined
}

export interface KnexClient {
  /** Inside a transaction: its own connection. Knex does not type the driver's connection. */
  acquireConnection(): Promise<unknown>
  releaseConnection(connection: unknown): Promise<unknown>
  readonly dialect: string
  /** The pool of Knex; undefined after destroy(). */
  readonly pool?: { readonly max?: unknown } | undefined
}

export interface KnexTransaction extends KnexHandle {
  isCompleted(): boolean
}

/** A Knex instance. */
export interface KnexDatabase<Tx extends KnexTransaction> extends KnexHandle {
  transaction: {
    (config?: never): Promise<Tx>
    <T>(work: (trx: Tx) => Promise<T>, config?: never): Promise<T>
  }
}

/**
 * Creates a database through Knex, over `pg` and `mysql2`: the handle is Knex's transaction. Statements go to the
 * driver's connection behind it, the one that Knex itself uses, because `knex.raw` has its own placeholders.
 */
export function fromKnex<Tx extends KnexTransaction>(knex: KnexDatabase<Tx>): SqlDatabase<Tx> {
  const isKnex = hasMethods(knex, 'transaction') && hasMethods(knex.client, 'acquireConnection')
  requireArgument('fromKnex', knex, isKnex, {
    what: 'an instance of Knex',
    hint: "Pass the result of knex({ client: 'pg', … }).",
  })
  refuseTransaction('fromKnex', knex.isTransaction)
  const { dialect } = knex.client
  if (dialect === 'postgresql') return postgresDatabase(knex)
  if (dialect === 'mysql') return mysqlDatabase(knex)
  throw new ArgumentError(`fromKnex does not support the dialect "${dialect}"`, {
    hint: 'Use the clients pg or mysql2.',
  })
}

function postgresDatabase<Tx extends KnexTransaction>(knex: KnexDatabase<Tx>): SqlDatabase<Tx> {
  return createSqlDatabase<Tx>({
    dialect: 'postgres',
    connectionOf: (tx) => ({
      query: async (text, values) => pgTransactionConnection(await pgClientOf(tx)).query(text, values),
    }),
    isInTransaction,
    knowsTransactions: true,
    poolSize: () => poolSizeOf(knex),
    begin: (body, expected) =>
      commitOverPg({ transaction: (work) => knex.transaction(work), clientOf: pgClientOf, body, expected }),
    lend: (use) => lendConnection(knex.client, (client) => pgRolledBackAfterFailure(client as PgClient, use)),
  })
}

function mysqlDatabase<Tx extends KnexTransaction>(knex: KnexDatabase<Tx>): SqlDatabase<Tx> {
  const guard = new MysqlTransactionGuard()
  return createSqlDatabase<Tx>({
    dialect: 'mysql',
    connectionOf: (tx) => guard.guarded(mysqlConnection(tx)),
    isInTransaction,
    poolSize: () => poolSizeOf(knex),
    begin: (body) =>
      commitByLibrary({
        transaction: (work) => knex.transaction(work),
        body,
        checkBeforeCommit: (tx) => guard.checkBeforeCommit(mysqlConnection(tx)),
      }),
    lend: (use) => lendConnection(knex.client, (connection) => rolledBackAfterFailure(promised(connection), use)),
  })
}

function poolSizeOf({ client }: KnexHandle): PoolSize | undefined {
  return client.pool === undefined ? undefined : { pool: client.pool, max: client.pool.max }
}

async function pgClientOf(handle: KnexHandle): Promise<PgClient> {
  return (await handle.client.acquireConnection()) as PgClient
}

function mysqlConnection(handle: KnexHandle): SqlConnection {
  return { query: async (text, values) => promised(await handle.client.acquireConnection()).query(text, values) }
}

/** Knex holds mysql2's callback connection, which exposes its promise counterpart. */
function promised(connection: unknown): SqlConnection {
  return mysql2Connection((connection as { promise(): Mysql2Connection }).promise())
}

function isInTransaction(tx: KnexTransaction): boolean {
  return tx.isTransaction === true && !tx.isCompleted()
}

async function lendConnection<T>(client: KnexClient, use: (connection: unknown) => Promise<T>): Promise<T> {
  const connection = await client.acquireConnection()
  try {
    return await use(connection)
  } finally {
    await client.releaseConnection(connection)
  }
}
