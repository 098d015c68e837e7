import type { SqlConnection } from '@waybill/core/internal'

/**
 * Uses a session and leaves no transaction open on it when that fails. For libraries that give a session back by
 * themselves: one whose connection is broken they notice on their own. One whose ROLLBACK got no answer in time they do not
 * notice, and somebody else's COMMIT would commit what was given up: it is closed, where the driver's client is seen.
 */
export async function rolledBackAfterFailure<T>(
  connection: SqlConnection,
  use: (connection: SqlConnection) => Promise<T>,
  close: () => Promise<void> = async () => undefined,
): Promise<T> {
  try {
    return await use(connection)
  } catch (error) {
    await connection.query('ROLLBACK', []).catch(close)
    throw error
  }
}
