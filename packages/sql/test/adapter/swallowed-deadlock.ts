import { NoTransactionError } from '@waybill/core'
import type { MysqlPlace } from '@waybill/test-support'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { serverAnswerOf } from '../../src/error/server-answer.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import { mysqlWitness } from './mysql-witness.ts'
import type { OpenedLibrary } from './opened-library.ts'

/**
 * On MySQL and MariaDB a deadlock ends the whole transaction. Where its error is caught, the next statement would commit
 * itself, and COMMIT would succeed with half of the work gone.
 */
export function describeSwallowedDeadlock<Tx>(
  place: MysqlPlace,
  open: (url: string) => Promise<OpenedLibrary<Tx>>,
): void {
  describe('a deadlock whose error was caught', () => {
    const witness = mysqlWitness(place)
    let library: OpenedLibrary<Tx>
    beforeAll(async () => {
      library = await open(place.url)
    })
    beforeEach(async () => {
      await witness.clear()
      await place.pool.query("insert into things (id) values ('one'), ('two')")
    })
    afterAll(() => library.close())

    test('refuses further writes, leaves nothing, and is not taken for a commit', async () => {
      const calls: string[] = []
      const lost = library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        context.afterCommit(() => calls.push('committed'))
        context.afterRollback((end) => calls.push(end))
        await context.currentConnection().query('INSERT INTO things (id) VALUES (?)', ['before'])
        await loseDeadlock(place, (text) => library.run(tx, text))
        const write = context.currentConnection().query('INSERT INTO things (id) VALUES (?)', ['after'])
        await expect(write).rejects.toThrow(NoTransactionError)
      })
      await expect(lost).rejects.toThrow(TransactionEndedError)
      expect(calls).toEqual(['UNKNOWN'])
      expect(await witness.ids()).toEqual(['one', 'two'])
    })

    test('refuses writes in a transaction of the application too', async () => {
      await library.ownTransaction(async (tx) => {
        await loseDeadlock(place, (text) => library.run(tx, text))
        const write = library.database
          .enlist(tx)
          .currentConnection()
          .query('INSERT INTO things (id) VALUES (?)', ['after'])
        await expect(write).rejects.toThrow(NoTransactionError)
      })
      expect(await witness.ids()).toEqual(['one', 'two'])
    })
  })
}

/** Makes the transaction behind `run` the victim of a deadlock: the one that wrote less is. */
async function loseDeadlock(place: MysqlPlace, run: (text: string) => Promise<unknown>): Promise<void> {
  const rival = await place.pool.getConnection()
  try {
    await rival.beginTransaction()
    for (let index = 0; index < 50; index++) await rival.query('insert into things (id) values (?)', [`rival-${index}`])
    await rival.query("select id from things where id = 'two' for update")
    await run("select id from things where id = 'one' for update")
    const rivalWaits = rival.query("select id from things where id = 'one' for update")
    const failure: unknown = await run("select id from things where id = 'two' for update").catch((error) => error)
    expect(serverAnswerOf(failure)).toEqual({ server: 'MYSQL', errno: 1213 })
    await rivalWaits
  } finally {
    await rival.rollback()
    rival.release()
  }
}
