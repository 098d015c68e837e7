import type { SqlConnection } from '@waybill/core'

/**
 * Uses a session and leaves no transaction open on it when that fails. For libraries that give a session back by
 * themselves: one whose ROLLBACK fails too is broken, and they notice that on their own.
 */
export async function rolledBackAfterFailure<T>(
  connection: SqlConnection,
  use: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  try {
    return await use(connection)
  } catch (error) {
    await connection.query('ROLLBACK', []).catch(() => undefined)
    throw error
  }
}
