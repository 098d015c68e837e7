import { describeThrown, WaybillError } from '@waybill/core'

/** A migration that was applied is not the one that this version of the package has under its number. */
export class MigrationChangedError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_CHANGED'

  constructor(table: string, version: number) {
    super(`Migration ${version} of ${table} was applied with other statements than this version has for it.`, {
      impact: 'Nothing was changed.',
      hint: 'Compare the table with migrationSql(). If it is right, correct the checksum in waybill_migration.',
    })
  }
}

/** A statement met a table that is not there, or not as this version has it. */
export class MigrationMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_MISSING'

  constructor(component: string, cause: unknown) {
    super(`The tables of the ${component} are not there, or older than this version: ${describeThrown(cause)}`, {
      cause,
      impact: 'The statement had no effect.',
      hint:
        'Run migrate(database) before anything is started, with the table names that the store was given; ' +
        'migrationSql() has the statements for a tool of your own.',
    })
  }
}

/** Another process is migrating this database, and did not finish in time. */
export class MigrationLockedError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_LOCKED'

  constructor(waitedSeconds: number) {
    super(`Another process has been migrating this database for ${waitedSeconds} seconds.`, {
      impact: 'Nothing was changed.',
      hint: 'Wait for it and try again; migrationStatus() tells how far it is.',
    })
  }
}
