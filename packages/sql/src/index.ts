export { fromDrizzle } from './adapter/from-drizzle.ts'
export { fromKnex } from './adapter/from-knex.ts'
export { fromKysely } from './adapter/from-kysely.ts'
export { fromMysql2 } from './adapter/from-mysql2.ts'
export { fromPg } from './adapter/from-pg.ts'
export { fromPostgresJs } from './adapter/from-postgres-js.ts'
export { fromPrisma, type PrismaDatabase, type PrismaTransaction } from './adapter/from-prisma.ts'
export { fromSqlite } from './adapter/from-sqlite.ts'
export { fromTypeOrm } from './adapter/from-typeorm.ts'
export type { SqlDatabase } from './database/sql-database.ts'
export { createDeadLetterIndex } from './dead-letter/create-dead-letter-index.ts'
export { classifySqlError } from './error/classify-sql-error.ts'
export { MigrationChangedError, MigrationLockedError, MigrationMissingError } from './error/migration-errors.ts'
export {
  ConnectionBusyError,
  DatabaseUnreachableError,
  TransactionEndedError,
  TransactionRolledBackError,
} from './error/sql-errors.ts'
export { createIdempotencyStore } from './inbox/create-idempotency-store.ts'
export { createInbox, type InboxOptions } from './inbox/create-inbox.ts'
export { type MigrationStatus, migrate, migrationSql, migrationStatus } from './migrate/migrate.ts'
export type { MigrateOptions } from './migrate/migrate-options.ts'
export { createAuditLog } from './operation/create-audit-log.ts'
export { type AdminTableOptions, createOperationStore } from './operation/create-operation-store.ts'
export { createOutboxStore, type OutboxStoreOptions } from './outbox/create-outbox-store.ts'
export {
  type OutboxHistory,
  type OutboxHistoryEvent,
  type OutboxHistoryOptions,
  outboxHistory,
} from './outbox/outbox-history.ts'
export { OutboxStores } from './outbox/outbox-stores.ts'
export { type PostgresWakeUpOptions, postgresWakeUp } from './outbox/postgres-wake-up.ts'
export { RowUnreadableError } from './outbox/row/row-errors.ts'
export { createProjectionStore, type ProjectionStoreOptions } from './projection/create-projection-store.ts'
export { createRequestStore } from './request/create-request-store.ts'
export { createSharedLog, type SharedLogOptions } from './shared-log/create-shared-log.ts'
