import { UnknownCommitError } from '@waybill/core'
import { refusedByServer } from '../error/classify-sql-error.ts'

/**
 * Runs the body in a transaction of a library that sends COMMIT itself when its callback resolves, and distinguishes
 * the outcomes: a failure before the callback resolves is rolled back; a later one is rolled back only if the server
 * says so, and unknown otherwise.
 */
export async function commitByLibrary<Tx, T>(steps: {
  readonly transaction: (work: (tx: Tx) => Promise<T>) => Promise<T>
  readonly body: (tx: Tx) => Promise<T>
  /** Throws if the transaction is no longer open, or can only be rolled back: COMMIT would succeed even so. */
  readonly checkBeforeCommit?: (tx: Tx) => Promise<void>
}): Promise<T> {
  let commitWasSent = false
  try {
    return await steps.transaction(async (tx) => {
      const value = await steps.body(tx)
      await steps.checkBeforeCommit?.(tx)
      commitWasSent = true
      return value
    })
  } catch (error) {
    if (!commitWasSent || refusedByServer(error)) throw error
    throw new UnknownCommitError(error)
  }
}
