import type { SqlConnection } from '@waybill/core/internal'
import { refusedByServer } from '../error/classify-sql-error.ts'

export interface DoubtWatch {
  readonly connection: SqlConnection
  /**
   * Whether a statement got no response: it may still be in progress (after a client-side timeout), so the session must
   * not be reused.
   */
  inDoubt(): boolean
}

/** Tracks the statements sent over a connection while it is lent. */
export function watchDoubt(connection: SqlConnection): DoubtWatch {
  let unanswered = 0
  let failed = false
  return {
    inDoubt: () => failed || unanswered > 0,
    connection: {
      async query(text, values) {
        unanswered += 1
        try {
          return await connection.query(text, values)
        } catch (error) {
          failed ||= !refusedByServer(error)
          throw error
        } finally {
          unanswered -= 1
        }
      },
    },
  }
}
