export { type DrizzleDatabase, fromDrizzle } from './adapter/from-drizzle.ts'
export {
  fromKnex,
  type KnexClient,
  type KnexDatabase,
  type KnexHandle,
  type KnexTransaction,
} from './adapter/from-knex.ts'
export {
  fromKysely,
  type KyselyAdapter,
  type KyselyDatabase,
  type KyselyHandle,
  type KyselyResult,
  type KyselyTransaction,
} from './adapter/from-kysely.ts'
export { fromMysql2, type Mysql2Connection, type Mysql2Pool } from './adapter/from-mysql2.ts'
export { fromPg, type PgPool } from './adapter/from-pg.ts'
export {
  fromPostgresJs,
  type PostgresJs,
  type PostgresJsQueries,
  type PostgresJsRows,
  type PostgresJsTransaction,
} from './adapter/from-postgres-js.ts'
export { fromPrisma, type PrismaDatabase, type PrismaOptions, type PrismaTransaction } from './adapter/from-prisma.ts'
export { fromSqlite, type SqliteHandle, type SqliteStatement } from './adapter/from-sqlite.ts'
export {
  fromTypeOrm,
  type TypeOrmDataSource,
  type TypeOrmHandle,
  type TypeOrmQueryRunner,
  type TypeOrmResult,
} from './adapter/from-typeorm.ts'
export type { PgClient, PgResult } from './adapter/pg-client.ts'
export type { Dialect, SqlDatabase } from './database/sql-database.ts'
export { classifySqlError, type FailedStatement, type SqlFailure } from './error/classify-sql-error.ts'
export { MigrationChangedError, MigrationLockedError, MigrationMissingError } from './error/migration-errors.ts'
export { ConnectionBusyError, TransactionEndedError, TransactionRolledBackError } from './error/sql-errors.ts'
export {
  createIdempotencyStore,
  type MarkPurge,
  type SqlIdempotencyStore,
} from './idempotency/create-idempotency-store.ts'
export { createInbox, type InboxOptions } from './inbox/create-inbox.ts'
export type { ComponentName } from './migrate/components.ts'
export { type MigrationStatus, migrate, migrationSql, migrationStatus } from './migrate/migrate.ts'
export type { MigrateOptions } from './migrate/migrate-options.ts'
export { createOutboxStore, type OutboxStoreOptions } from './outbox/create-outbox-store.ts'
export { RowUnreadableError } from './outbox/row/row-errors.ts'
export {
  type ListeningClient,
  type NotifyingPool,
  type PostgresWakeUpOptions,
  postgresWakeUp,
} from './wake-up/postgres-wake-up.ts'
