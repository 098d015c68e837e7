import { ArgumentError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { postgresWakeUp } from '../../src/outbox/postgres-wake-up.ts'

test('a channel that is no plain name is refused, since it stands in a statement', () => {
  expect(() => postgresWakeUp({} as never, { channel: 'x; drop table y' })).toThrow(ArgumentError)
})

describeWith('postgres')('wake-ups by LISTEN and NOTIFY', ({ postgres }) => {
  function open(): Pool {
    const pool = new Pool({ connectionString: postgres.url, max: 3 })
    pool.on('error', () => {})
    onTestFinished(() => pool.end())
    return pool
  }

  test('one node hears another, and nothing after it stopped listening', async () => {
    const [here, there] = [open(), open()]
    let heard = Promise.withResolvers<void>()
    let words = 0
    const channel = `waybill_test_${process.pid}`
    const listener = await postgresWakeUp(here, { channel }).listen(
      () => {
        words++
        heard.resolve()
      },
      () => {},
    )
    await postgresWakeUp(there, { channel }).announce()
    await heard.promise
    expect(words).toBe(1)
    await listener[Symbol.asyncDispose]()
    heard = Promise.withResolvers<void>()
    await postgresWakeUp(there, { channel }).announce()
    await there.query('select 1')
    expect(words).toBe(1)
  })

  test('a connection that the server ends is told, once', async () => {
    const pool = open()
    const lost = Promise.withResolvers<unknown>()
    let losses = 0
    await postgresWakeUp(pool, { channel: `waybill_lost_${process.pid}` }).listen(
      () => {},
      (error) => {
        losses++
        lost.resolve(error)
      },
    )
    await open().query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query = 'LISTEN waybill_lost_${process.pid}'`,
    )
    expect(await lost.promise).toBeInstanceOf(Error)
    expect(losses).toBe(1)
  })
})
