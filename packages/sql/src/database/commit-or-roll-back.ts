import type { SqlConnection } from '@waybill/core/internal'

/** Ends the open transaction of a connection: by COMMIT if the work succeeds, by ROLLBACK if anything fails. */
export async function commitOrRollBack<T>(connection: SqlConnection, work: () => Promise<T>): Promise<T> {
  try {
    const value = await work()
    await connection.query('COMMIT', [])
    return value
  } catch (error) {
    // If ROLLBACK cannot be sent, the session and its transaction are lost. The first error says more.
    await connection.query('ROLLBACK', []).catch(() => {})
    throw error
  }
}
