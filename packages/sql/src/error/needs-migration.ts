import { MigrationMissingError } from './migration-errors.ts'
import { isMissingTable } from './missing-table.ts'

/** Returns the result of a statement. @throws a MigrationMissingError if the tables are missing or outdated */
export async function needsMigration<T>(
  component: 'outbox' | 'inbox' | 'projection' | 'request' | 'admin',
  answer: Promise<T>,
): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw isMissingTable(error) ? new MigrationMissingError(component, error) : error
  }
}
