import { NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import type { SqlDatabase } from '../database/sql-database.ts'
import { isOutsideTransaction } from '../error/postgres-state.ts'
import { TransactionEndedError } from '../error/sql-errors.ts'
import type { MarkSign } from './mark-sign.ts'
import type { RunMark } from './run-marks.ts'

/** The progress of a run. */
interface Run {
  readonly mark: RunMark
  readonly sign: MarkSign
  readonly hasFailed: boolean
}

/**
 * Runs an effect in its own transaction, together with its mark. Work that ends this transaction by itself may have
 * committed the mark while later statements are rolled back. The effect would then never take place, so that mark is
 * deleted.
 *
 * @throws a TransactionEndedError if the mark was deleted, or if the database reports that end itself
 */
export async function runEffect<Tx>(
  database: SqlDatabase<Tx>,
  setMark: (connection: SqlConnection) => Promise<RunMark | null>,
  effect: (tx: Tx) => Promise<void>,
): Promise<'DONE' | 'DUPLICATE'> {
  let run: Run | undefined
  try {
    return await database.transaction(async (tx) => {
      const context = database.enlist(tx)
      const mark = await setMark(context.currentConnection())
      if (mark === null) return 'DUPLICATE'
      // Some libraries check the end of a transaction only if callbacks depend on it.
      context.afterRollback(() => undefined)
      try {
        await effect(tx)
      } catch (error) {
        run = { mark, sign: await mark.sign().catch(() => null), hasFailed: true }
        throw error
      }
      run = { mark, sign: mark.answered, hasFailed: false }
      return 'DONE'
    })
  } catch (error) {
    if (run === undefined || !(run.hasFailed || mayHaveUndone(error))) throw error
    throw (await deleteOwn(database, run)) ? markWasCommitted(error) : error
  }
}

/**
 * Deletes the run's mark if it was committed; nearly always it was rolled back. The first error says more than one of
 * this.
 */
async function deleteOwn<Tx>(database: SqlDatabase<Tx>, { mark, sign }: Run): Promise<boolean> {
  if (sign === null) return false
  return database.connection((connection) => mark.deleteOwn(connection, sign)).catch(() => false)
}

/** Whether something was rolled back although the effect succeeded. If no transaction was open, all of it stands. */
function mayHaveUndone(error: unknown): boolean {
  if (!(error instanceof TransactionEndedError) || error.cause === undefined) return false
  return !(error.cause instanceof NoTransactionError || isOutsideTransaction(error.cause))
}

function markWasCommitted(cause: unknown): TransactionEndedError {
  return new TransactionEndedError(cause, {
    impact:
      'Statements that the effect committed itself stay. Its mark was committed too and has been deleted, so the next run ' +
      'executes the effect and is not a duplicate.',
  })
}
