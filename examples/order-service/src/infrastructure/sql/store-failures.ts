import { classifySqlError } from '@waybill/sql'
import { StoreUnavailableError } from '../../application/application-errors.ts'
import type { SqlSession } from './sql-session.ts'

/** Runs a step on the database. A failure that had no effect and may pass becomes a {@link StoreUnavailableError}. */
export async function onStore<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw unavailableOr(error)
  }
}

/** Returns the error, or a {@link StoreUnavailableError} if it had no effect and may pass. */
export function unavailableOr(error: unknown): unknown {
  if (error instanceof StoreUnavailableError) return error
  return classifySqlError(error, 'IN_TRANSACTION') === 'RETRIABLE' ? new StoreUnavailableError(error) : error
}

/** Returns the session with its failures told apart. */
export function tellingFailures({ query, change }: SqlSession): SqlSession {
  return {
    query: (text, parameters) => onStore(() => query(text, parameters)),
    change: (text, parameters) => onStore(() => change(text, parameters)),
  }
}
