/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export type { DrizzleDatabase } from './adapter/from-drizzle.ts'
export type { KnexClient, KnexDatabase, KnexHandle, KnexTransaction } from './adapter/from-knex.ts'
export type {
  KyselyAdapter,
  KyselyDatabase,
  KyselyHandle,
  KyselyResult,
  KyselyTransaction,
} from './adapter/from-kysely.ts'
export type { Mysql2Connection, Mysql2Pool } from './adapter/from-mysql2.ts'
export type { PgPool } from './adapter/from-pg.ts'
export type {
  PostgresJs,
  PostgresJsQueries,
  PostgresJsRows,
  PostgresJsTransaction,
} from './adapter/from-postgres-js.ts'
export type { PrismaOptions } from './adapter/from-prisma.ts'
export type { SqliteHandle, SqliteStatement } from './adapter/from-sqlite.ts'
export type { TypeOrmDataSource, TypeOrmHandle, TypeOrmQueryRunner, TypeOrmResult } from './adapter/from-typeorm.ts'
export type { PgClient, PgResult } from './adapter/pg-client.ts'
export type { SqlDialect } from './database/sql-database.ts'
export type { Background, BackgroundOptions } from './database/with-background.ts'
export type { FailedStatement, SqlFailure } from './error/classify-sql-error.ts'
export type { MarkPurge, SqlIdempotencyStore } from './inbox/create-idempotency-store.ts'
export type { ComponentName } from './migrate/components.ts'
export type { ListeningClient, NotifyingPool } from './outbox/postgres-wake-up.ts'
export type { RequestStoreOptions, SqlRequestStore } from './request/create-request-store.ts'
