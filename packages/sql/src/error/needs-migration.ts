import { MigrationMissingError } from './migration-errors.ts'
import { isMissingTable } from './missing-table.ts'

/** Passes on what a statement answers. @throws a MigrationMissingError where the tables are not as they should be */
export async function needsMigration<T>(component: 'outbox' | 'inbox', answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw isMissingTable(error) ? new MigrationMissingError(component, error) : error
  }
}
