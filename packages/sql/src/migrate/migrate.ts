import { checkMysqlSession } from '../database/check-mysql-session.ts'
import { requireDatabase, requireDialect } from '../database/required-argument.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import { MigrationChangedError } from '../error/migration-errors.ts'
import { type ComponentName, components } from './components.ts'
import { exclusively } from './exclusive.ts'
import {
  type AppliedMigration,
  checkedTable,
  checksumOf,
  createHistory,
  hasHistory,
  readHistory,
  writeHistory,
} from './history.ts'
import { type MigrateOptions, resolveMigrateOptions } from './migrate-options.ts'
import type { Migration } from './migration.ts'

/** The status of one migration of one table. */
export interface MigrationStatus {
  readonly component: ComponentName
  readonly table: string
  readonly version: number
  readonly title: string
  /** CHANGED: applied with other statements. NEWER: applied by a later version of the package, which only adds. */
  readonly state: 'APPLIED' | 'PENDING' | 'CHANGED' | 'NEWER'
  /** Epoch ms; null while it is pending. */
  readonly appliedAt: number | null
}

/** A migration with its statements for one table and dialect. */
interface PlannedMigration {
  readonly component: ComponentName
  readonly table: string
  readonly migration: Migration
  readonly statements: readonly string[]
  readonly checksum: string
}

/**
 * Migrates the tables to this version: missing migrations are applied in order, applied ones are verified. Any number
 * of processes may call it concurrently, at each start.
 *
 * @returns the migrations applied by this call
 * @throws a MigrationChangedError, a MigrationLockedError, a StateError for sessions that do not commit, or a database
 * error
 */
export async function migrate<Tx>(database: SqlDatabase<Tx>, options: MigrateOptions = {}): Promise<MigrationStatus[]> {
  requireDatabase('migrate', database)
  const { dialect } = database
  const { tables, runtime } = resolveMigrateOptions(options)
  const plan = planOf(dialect, tables)
  return database.connection(async (connection) => {
    // Otherwise applied migrations would not be recorded, or be lost with their session.
    if (dialect === 'mysql') await checkMysqlSession(connection)
    return exclusively[dialect](connection, runtime, async () => {
      // Checked first, because creating an existing table makes PostgreSQL send a notice, which some drivers print.
      if (!(await hasHistory(connection, dialect))) await createHistory(connection, dialect)
      const pending = pendingOf(plan, await readHistory(connection, dialect))
      for (const planned of pending) {
        for (const statement of planned.statements) await connection.query(statement, [])
        await writeHistory(connection, dialect, rowOf(planned))
      }
      const applied = await readHistory(connection, dialect)
      return pending.map((planned) => statusOf(planned, appliedFor(planned, applied)))
    })
  })
}

/** Returns the status of this version's migrations in the database. Changes nothing. */
export async function migrationStatus<Tx>(
  database: SqlDatabase<Tx>,
  options: MigrateOptions = {},
): Promise<MigrationStatus[]> {
  requireDatabase('migrationStatus', database)
  const { dialect } = database
  const plan = planOf(dialect, resolveMigrateOptions(options).tables)
  return database.connection(async (connection) => {
    const history = (await hasHistory(connection, dialect)) ? await readHistory(connection, dialect) : []
    return [...plan.map((planned) => statusOf(planned, appliedFor(planned, history))), ...newerThan(plan, history)]
  })
}

/** Returns the same statements as text, for your own migration tool. With it you do not need {@link migrate}. */
export function migrationSql(dialect: SqlDialect, options: MigrateOptions = {}): string {
  requireDialect('migrationSql', dialect)
  return planOf(dialect, resolveMigrateOptions(options).tables)
    .map(({ component, migration, statements }) => {
      const head = `-- ${component} ${migration.version}: ${migration.title}`
      return [head, ...statements.map((statement) => `${statement};`)].join('\n')
    })
    .join('\n\n')
    .concat('\n')
}

function planOf(dialect: SqlDialect, tables: Readonly<Record<ComponentName, string | false>>): PlannedMigration[] {
  return (Object.keys(components) as ComponentName[]).flatMap((component) => {
    const { migrations } = components[component]
    const given = tables[component]
    if (given === false) return []
    const table = checkedTable(given, dialect)
    return migrations.map((migration): PlannedMigration => {
      const statements = migration.statements(table, dialect)
      return { component, table, migration, statements, checksum: checksumOf(statements) }
    })
  })
}

function pendingOf(plan: readonly PlannedMigration[], history: readonly AppliedMigration[]): PlannedMigration[] {
  return plan.filter((planned) => {
    const applied = appliedFor(planned, history)
    if (applied === undefined) return true
    if (applied.checksum === planned.checksum) return false
    throw new MigrationChangedError(planned.table, planned.migration.version)
  })
}

function appliedFor(planned: PlannedMigration, history: readonly AppliedMigration[]): AppliedMigration | undefined {
  return history.find(({ table, version }) => table === planned.table && version === planned.migration.version)
}

function statusOf(planned: PlannedMigration, applied: AppliedMigration | undefined): MigrationStatus {
  const { component, table, migration, checksum } = planned
  const { version, title } = migration
  const state = applied === undefined ? 'PENDING' : applied.checksum === checksum ? 'APPLIED' : 'CHANGED'
  return { component, table, version, title, state, appliedAt: applied?.appliedAt ?? null }
}

function newerThan(plan: readonly PlannedMigration[], history: readonly AppliedMigration[]): MigrationStatus[] {
  const componentOf = new Map(plan.map(({ table, component }) => [table, component]))
  return history.flatMap(({ table, version, title, appliedAt }) => {
    const component = componentOf.get(table)
    const isPlanned = plan.some((planned) => planned.table === table && planned.migration.version === version)
    return component === undefined || isPlanned ? [] : [{ component, table, version, title, state: 'NEWER', appliedAt }]
  })
}

function rowOf({ table, migration, checksum }: PlannedMigration): Omit<AppliedMigration, 'appliedAt'> {
  return { table, version: migration.version, title: migration.title, checksum }
}
