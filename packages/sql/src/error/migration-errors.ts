import { describeThrown, WaybillError } from '@waybill/core'

/** An applied migration differs from the one this version of the package has under its number. */
export class MigrationChangedError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_CHANGED'

  constructor(table: string, version: number) {
    super(`Migration ${version} of ${table} was applied with other statements than this version contains.`, {
      impact: 'Nothing was changed.',
      hint: 'Compare the table with migrationSql(). If it is correct, update the checksum in waybill_migration.',
    })
  }
}

/** A statement found a table missing, or different from what this version expects. */
export class MigrationMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_MISSING'

  constructor(component: string, cause: unknown) {
    super(`The tables of the ${component} are missing, or older than this version: ${describeThrown(cause)}`, {
      cause,
      impact: 'The statement had no effect.',
      hint:
        'Run migrate(database) before you start anything, with the table names of your stores. ' +
        'migrationSql() returns the statements for a migration tool of your own.',
    })
  }
}

/** Another process is migrating this database and did not finish in time. */
export class MigrationLockedError extends WaybillError {
  static override readonly code = 'WAYBILL_MIGRATION_LOCKED'

  constructor(waitedSeconds: number) {
    super(`Another process has been migrating this database for ${waitedSeconds} seconds.`, {
      impact: 'Nothing was changed.',
      hint: 'Wait for it and retry. migrationStatus() shows its progress.',
    })
  }
}
