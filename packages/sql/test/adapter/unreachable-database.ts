import type { SqlConnection } from '@waybill/core/internal'
import { createFaultProxy, eventually } from '@waybill/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { classifySqlError } from '../../src/error/classify-sql-error.ts'
import { DatabaseUnreachableError } from '../../src/error/sql-errors.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import type { OpenedLibrary } from './opened-library.ts'

const ask = (connection: SqlConnection) => connection.query('select 1', [])

/** Behavior of a database that cannot be reached. */
export function describeUnreachableDatabase<Tx>(url: string, open: (url: string) => Promise<OpenedLibrary<Tx>>): void {
  describe('behind a network that refuses connections', () => {
    const target = new URL(url)
    const proxy = createFaultProxy({ target: { host: target.hostname, port: Number(target.port) } })
    let library: OpenedLibrary<Tx>
    beforeAll(async () => {
      await proxy.start()
      const through = new URL(url)
      through.hostname = proxy.host
      through.port = String(proxy.port)
      library = await open(through.href)
    })
    afterEach(() => proxy.heal())
    afterAll(async () => {
      await library.close()
      await proxy.stop()
    })

    test('a database that is down is reported by one error, from a transaction, a session and migrate', async () => {
      proxy.refuse()
      proxy.cut()
      // The pool drops what it had open first: Drizzle never releases a connection on which BEGIN failed.
      for (let request = 0; request < 10; request++) await library.database.connection(ask).catch(() => {})
      const errors = await Promise.all(
        [
          () => library.database.transaction(async () => {}),
          () => library.database.connection(ask),
          () => migrate(library.database),
        ].map((call) => call().catch((error: unknown) => error)),
      )
      for (const error of errors) {
        expect(error).toBeInstanceOf(DatabaseUnreachableError)
        expect(error).toMatchObject({
          cause: expect.any(Error),
          impact: expect.stringContaining('No transaction was started'),
          hint: expect.stringContaining('server is running'),
        })
        expect(classifySqlError(error, 'IN_TRANSACTION')).toBe('RETRIABLE')
      }
    })

    test('a pool whose database was down for many requests serves all of them again', async () => {
      proxy.refuse()
      proxy.cut()
      for (let request = 0; request < 20; request++) await library.database.connection(ask).catch(() => {})
      proxy.heal()
      await eventually(() => library.database.connection(ask))
      const all = Array.from({ length: 20 }, () => library.database.connection(ask))
      expect(await Promise.all(all)).toHaveLength(20)
    })
  })
}
