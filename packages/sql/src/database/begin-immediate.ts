import type { Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { serverAnswerOf } from '../error/server-answer.ts'

const pollMs = 20

/**
 * Begins a write transaction of SQLite, polling for the lock: by default SQLite does not wait for it at all.
 *
 * @param tooLate - the error after `deadlineMs`; by default that of SQLite
 */
export async function beginImmediate(
  connection: SqlConnection,
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
  deadlineMs: number,
  tooLate?: () => Error,
): Promise<void> {
  const deadline = clock.monotonic() + deadlineMs
  for (;;) {
    try {
      await connection.query('BEGIN IMMEDIATE', [])
      return
    } catch (error) {
      if (!isBusy(error)) throw error
      if (clock.monotonic() >= deadline) throw tooLate?.() ?? error
    }
    await timers.sleep(pollMs)
  }
}

function isBusy(error: unknown): boolean {
  const answer = serverAnswerOf(error)
  // The primary result code SQLITE_BUSY; extended ones add higher bytes.
  return answer?.server === 'SQLITE' && (answer.resultCode & 0xff) === 5
}
