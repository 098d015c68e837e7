import type { SqlConnection } from '@waybill/core/internal'

/** Ends the transaction that is open on a connection: by COMMIT when the work succeeds, by ROLLBACK when anything fails. */
export async function commitOrRollBack<T>(connection: SqlConnection, work: () => Promise<T>): Promise<T> {
  try {
    const value = await work()
    await connection.query('COMMIT', [])
    return value
  } catch (error) {
    // Where ROLLBACK cannot be sent the session is lost, and the transaction with it: the first error tells more.
    await connection.query('ROLLBACK', []).catch(() => {})
    throw error
  }
}
