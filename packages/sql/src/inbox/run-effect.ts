import { NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import type { SqlDatabase } from '../database/sql-database.ts'
import { isOutsideTransaction } from '../error/postgres-state.ts'
import { TransactionEndedError } from '../error/sql-errors.ts'
import type { MarkSign } from './mark-sign.ts'
import type { RunMark } from './run-marks.ts'

/** What a run has done so far. */
interface Run {
  readonly mark: RunMark
  readonly sign: MarkSign
  readonly hasFailed: boolean
}

/**
 * Runs an effect in a transaction opened for it, together with its mark. Work that ends this transaction by itself may have
 * committed the mark, while what came after is rolled back: nobody would ever have the effect, so that mark is taken back.
 *
 * @throws a TransactionEndedError where the mark was taken back, and where the database tells of that end by itself
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
      // Some libraries look how a transaction ends only if somebody waits for that.
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
    throw (await takeBack(database, run)) ? markWasCommitted(error) : error
  }
}

/** Nearly always there is nothing to take back: the mark was rolled back. The first error tells more than one of this. */
async function takeBack<Tx>(database: SqlDatabase<Tx>, { mark, sign }: Run): Promise<boolean> {
  if (sign === null) return false
  return database.connection((connection) => mark.takeBack(connection, sign)).catch(() => false)
}

/** Whether something was rolled back although the effect had succeeded. Where no transaction was open, all of it stands. */
function mayHaveUndone(error: unknown): boolean {
  if (!(error instanceof TransactionEndedError) || error.cause === undefined) return false
  return !(error.cause instanceof NoTransactionError || isOutsideTransaction(error.cause))
}

function markWasCommitted(cause: unknown): TransactionEndedError {
  return new TransactionEndedError(cause, {
    impact:
      'What the effect has committed by itself stays. Its mark was committed too and was taken back, so the next run has ' +
      'the effect and is no duplicate.',
  })
}
