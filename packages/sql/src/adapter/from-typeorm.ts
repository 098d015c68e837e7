import { ArgumentError, NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { PoolSize } from '../database/pool-room.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { endedByApplication } from '../error/sql-errors.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { mysql2PoolSize } from './from-mysql2.ts'
import { mysqlLiterals } from './mysql-literal.ts'
import { mysqlResult } from './mysql-result.ts'
import { MysqlTransactionGuard } from './mysql-transaction-guard.ts'
import { type PgClient, pgInTransaction } from './pg-client.ts'
import { commitOverPg, pgRolledBackAfterFailure } from './pg-transaction-check.ts'
import { rolledBackAfterFailure } from './rolled-back-after-failure.ts'

/** The used part of a TypeORM query runner. */
export interface TypeOrmQueryRunner {
  query(text: string, values: unknown[], useStructuredResult: true): Promise<TypeOrmResult>
  /** The driver's own client; TypeORM does not type it. */
  connect(): Promise<unknown>
  release(): Promise<void>
  readonly isTransactionActive: boolean
}

export interface TypeOrmResult {
  readonly raw: unknown
  readonly records: unknown[]
  affected?: number | undefined
}

/** A TypeORM entity manager. Inside a transaction it has its own query runner. */
export interface TypeOrmHandle {
  readonly queryRunner?: TypeOrmQueryRunner | undefined
}

/** A data source of TypeORM. */
export interface TypeOrmDataSource<Tx extends TypeOrmHandle> {
  transaction: {
    <T>(work: (manager: Tx) => Promise<T>): Promise<T>
    <T>(isolation: never, work: (manager: Tx) => Promise<T>): Promise<T>
  }
  createQueryRunner(): TypeOrmQueryRunner
  readonly options: { readonly type: string }
  /** Its pool is the driver's, which TypeORM does not type. */
  readonly driver?: unknown
}

/** Creates a database through TypeORM, over `pg` and `mysql2`: the handle is the EntityManager of the transaction. */
export function fromTypeOrm<Tx extends TypeOrmHandle>(dataSource: TypeOrmDataSource<Tx>): SqlDatabase<Tx> {
  requireArgument('fromTypeOrm', dataSource, hasMethods(dataSource, 'transaction', 'createQueryRunner'), {
    what: 'a DataSource of TypeORM',
    hint: "Pass new DataSource({ type: 'postgres', … }) after its initialize().",
  })
  const { type } = dataSource.options
  if (type === 'postgres') return postgresDatabase(dataSource)
  if (type === 'mysql' || type === 'mariadb') return mysqlDatabase(dataSource)
  throw new ArgumentError(`fromTypeOrm does not support data sources of type "${type}"`, {
    hint: 'Use postgres, mysql or mariadb.',
  })
}

function postgresDatabase<Tx extends TypeOrmHandle>(dataSource: TypeOrmDataSource<Tx>): SqlDatabase<Tx> {
  return createSqlDatabase<Tx>({
    dialect: 'postgres',
    connectionOf: (tx) => openConnection(runnerOf(tx)),
    isInTransaction,
    knowsTransactions: true,
    poolSize: () => poolSizeOf(dataSource, (pool) => (pool as { options?: { max?: unknown } }).options?.max),
    begin: (body, expected) =>
      commitOverPg({
        transaction: (work) => dataSource.transaction(work),
        clientOf: (tx) => clientBehind(runnerOf(tx)),
        body,
        expected,
      }),
    lend: (use) => lendRunner(dataSource, async (runner) => pgRolledBackAfterFailure(await clientBehind(runner), use)),
  })
}

function mysqlDatabase<Tx extends TypeOrmHandle>(dataSource: TypeOrmDataSource<Tx>): SqlDatabase<Tx> {
  const guard = new MysqlTransactionGuard()
  return createSqlDatabase<Tx>({
    dialect: 'mysql',
    connectionOf: (tx) => guard.guarded(mysqlConnection(runnerOf(tx))),
    isInTransaction,
    poolSize: () => poolSizeOf(dataSource, (pool) => mysql2PoolSize(pool)?.max),
    begin: (body) =>
      commitByLibrary({
        transaction: (work) => dataSource.transaction(work),
        body,
        checkBeforeCommit: (tx) => guard.checkBeforeCommit(mysqlConnection(runnerOf(tx))),
      }),
    lend: (use) => lendRunner(dataSource, (runner) => rolledBackAfterFailure(mysqlConnection(runner), use)),
  })
}

/** Returns the size of the driver's pool, which exists once the data source is initialized. */
function poolSizeOf(
  { driver }: Pick<TypeOrmDataSource<TypeOrmHandle>, 'driver'>,
  maxOf: (pool: object) => unknown,
): PoolSize | undefined {
  const { master, pool = master } = Object(driver) as { master?: unknown; pool?: unknown }
  return typeof pool === 'object' && pool !== null ? { pool, max: maxOf(pool) } : undefined
}

function postgresConnection(runner: TypeOrmQueryRunner): SqlConnection {
  return {
    async query(text, values) {
      const { records, affected } = await runner.query(text, [...values], true)
      return { rows: (records ?? []) as Record<string, unknown>[], changed: affected ?? 0 }
    },
  }
}

/** Checks the client for an open transaction: TypeORM does not notice if the application itself ended it. */
function openConnection(runner: TypeOrmQueryRunner): SqlConnection {
  const connection = postgresConnection(runner)
  return {
    async query(text, values) {
      if (!pgInTransaction(await clientBehind(runner))) throw new NoTransactionError(endedByApplication)
      return connection.query(text, values)
    },
  }
}

async function clientBehind(runner: TypeOrmQueryRunner): Promise<PgClient> {
  return (await runner.connect()) as PgClient
}

function mysqlConnection(runner: TypeOrmQueryRunner): SqlConnection {
  return { query: async (text, values) => mysqlResult((await runner.query(text, mysqlLiterals(values), true)).raw) }
}

function isInTransaction({ queryRunner }: TypeOrmHandle): boolean {
  return queryRunner?.isTransactionActive === true
}

function runnerOf({ queryRunner }: TypeOrmHandle): TypeOrmQueryRunner {
  if (queryRunner !== undefined) return queryRunner
  throw new ArgumentError('The entity manager has no query runner, so it is not in a transaction')
}

async function lendRunner<T>(
  dataSource: Pick<TypeOrmDataSource<TypeOrmHandle>, 'createQueryRunner'>,
  use: (runner: TypeOrmQueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner()
  try {
    return await use(runner)
  } finally {
    await runner.release()
  }
}
