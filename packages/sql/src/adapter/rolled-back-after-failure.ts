import type { SqlConnection } from '@waybill/core/internal'

/**
 * Uses a session and leaves no transaction open on it after a failure. For libraries that release sessions themselves:
 * they notice a broken connection, but not a ROLLBACK without a response, after which another user's COMMIT would
 * commit the abandoned work. Such a session is closed, if the driver's client is accessible.
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
