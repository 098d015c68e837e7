import type { SqlConnection } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/database/mysql-transaction.ts'

/** A session that records its statements and fails where configured. */
function recordingSession(failOn: (text: string, times: number) => Error | undefined = () => undefined) {
  const sent: string[] = []
  const connection: SqlConnection = {
    async query(text) {
      sent.push(text)
      const failure = failOn(text, sent.filter((one) => one === text).length)
      if (failure !== undefined) throw failure
      return { rows: [], changed: 0 }
    },
  }
  return { connection, sent }
}

function serverError(errno: number): Error {
  return Object.assign(new Error(`errno ${errno}`), { errno, sqlState: 'HY000', code: 'ER' })
}

const opening = ['SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'START TRANSACTION']
const limit =
  'SET @waybill_wait_timeout = @@wait_timeout, SESSION wait_timeout = 5, @waybill_lock_timeout = @@innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1'
const limitEnds =
  'SET SESSION wait_timeout = @waybill_wait_timeout, SESSION innodb_lock_wait_timeout = @waybill_lock_timeout'

describe('a step of the store on MySQL', () => {
  test('is a transaction at READ COMMITTED, in which the session may not be idle for long', async () => {
    const { connection, sent } = recordingSession()
    expect(await inTransaction(connection, async () => 'answer')).toBe('answer')
    expect(sent).toEqual([limit, ...opening, 'COMMIT', limitEnds])
  })

  test.each([1213, 1205, 1020])('is rolled back and repeated after error %i', async (errno) => {
    const { connection, sent } = recordingSession()
    let tries = 0
    const answer = await inTransaction(connection, async () => {
      tries += 1
      if (tries < 3) throw serverError(errno)
      return tries
    })
    expect(answer).toBe(3)
    expect(sent).toEqual([limit, ...opening, 'ROLLBACK', ...opening, 'ROLLBACK', ...opening, 'COMMIT', limitEnds])
  })

  test('is also repeated when COMMIT is refused with a deadlock', async () => {
    const { connection } = recordingSession((text, times) =>
      text === 'COMMIT' && times === 1 ? serverError(1213) : undefined,
    )
    let tries = 0
    await inTransaction(connection, async () => {
      tries += 1
    })
    expect(tries).toBe(2)
  })

  test('is told as committed when the session is lost after its COMMIT', async () => {
    const { connection } = recordingSession((text) => (text === limitEnds ? new Error('no connection') : undefined))
    expect(await inTransaction(connection, async () => 'answer')).toBe('answer')
  })

  test.each([1317, 1969, 3024])(
    'sends the end of the limit again when the server refuses it with %i',
    async (errno) => {
      const { connection, sent } = recordingSession((text, times) =>
        text === limitEnds && times < 3 ? serverError(errno) : undefined,
      )
      expect(await inTransaction(connection, async () => 'answer')).toBe('answer')
      expect(sent).toEqual([limit, ...opening, 'COMMIT', limitEnds, limitEnds, limitEnds])
    },
  )

  test('leaves the limit where the server refuses its end for good, and tells what was committed', async () => {
    const { connection, sent } = recordingSession((text) => (text === limitEnds ? serverError(1969) : undefined))
    expect(await inTransaction(connection, async () => 'answer')).toBe('answer')
    expect(sent.filter((text) => text === limitEnds)).toHaveLength(5)
  })

  test('fails with the error after five deadlocks', async () => {
    const { connection } = recordingSession()
    let tries = 0
    const failed = inTransaction(connection, async () => {
      tries += 1
      throw serverError(1213)
    })
    await expect(failed).rejects.toMatchObject({ errno: 1213 })
    expect(tries).toBe(5)
  })

  test('is not repeated after any other error, which is rethrown', async () => {
    const lost = new Error('the connection is lost')
    const { connection, sent } = recordingSession((text) =>
      text === 'ROLLBACK' ? new Error('no connection') : undefined,
    )
    const failed = inTransaction(connection, () => Promise.reject(lost))
    await expect(failed).rejects.toBe(lost)
    expect(sent).toEqual([limit, ...opening, 'ROLLBACK', limitEnds])
  })
})
