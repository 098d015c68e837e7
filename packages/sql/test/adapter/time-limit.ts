import { createFaultProxy } from '@waybill/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import type { OpenedLibrary, Witness } from './opened-library.ts'
import { Seen } from './seen.ts'
import { writeWith } from './write-with.ts'

/**
 * pg can give up waiting for an answer (`query_timeout`). What it had not sent by then it never sends, also a ROLLBACK; what
 * it had sent runs on. Its connection stays open all the while.
 */
export function describeTimeLimit<Tx>(witness: Witness, open: (url: string) => Promise<OpenedLibrary<Tx>>): void {
  describe("with pg's own limit for the time of a statement", () => {
    const target = new URL(String(witness.url))
    const proxy = createFaultProxy({ target: { host: target.hostname, port: Number(target.port) } })
    let library: OpenedLibrary<Tx>
    beforeAll(async () => {
      await proxy.start()
      const through = new URL(target)
      through.hostname = proxy.host
      through.port = String(proxy.port)
      through.searchParams.set('query_timeout', '500')
      library = await open(through.href)
    })
    beforeEach(() => witness.clear())
    afterEach(() => proxy.heal())
    afterAll(async () => {
      await library.close()
      await proxy.stop()
    })

    const write = (tx: Tx, id: string) => writeWith(library.database, library.database.enlist(tx), id)
    /** Rejects as the work requests while the network is stalled, and continues afterwards. */
    async function givenUp(work: (tx: Tx) => Promise<unknown>): Promise<unknown> {
      const error: unknown = await library.database.transaction(work).then(
        () => 'committed',
        (thrown: unknown) => thrown,
      )
      proxy.heal()
      return error
    }

    test('a transaction whose savepoint and rollback got no answer is not committed by the next one', async () => {
      const seen = new Seen()
      const error = await givenUp(async (tx) => {
        seen.listenTo(library.database.enlist(tx))
        await write(tx, 'given up')
        await library.database.transaction(async (nested) => {
          await write(nested, 'given up too')
          proxy.hold('TO_TARGET')
        })
      })
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(TransactionEndedError)
      expect(String(error)).toContain('timeout')
      expect(seen.calls).toEqual(['rolled back'])
      await library.database.transaction((tx) => write(tx, 'next'))
      expect(await witness.ids()).toEqual(['next'])
    })

    test('a transaction whose rollback got no answer is not committed by the next one', async () => {
      const thrown = new Error('changed my mind')
      const error = await givenUp(async (tx) => {
        await write(tx, 'given up')
        proxy.hold('TO_TARGET')
        throw thrown
      })
      expect(error).toBe(thrown)
      await library.database.transaction((tx) => write(tx, 'next'))
      expect(await witness.ids()).toEqual(['next'])
    })

    test('a lent session that was left in a transaction is not used by the next one', async () => {
      const failed = library.database.connection(async (connection) => {
        await connection.query('BEGIN', [])
        await connection.query("INSERT INTO things (id) VALUES ('given up')", [])
        proxy.hold('TO_TARGET')
        throw new Error('halfway')
      })
      await expect(failed).rejects.toThrow('halfway')
      proxy.heal()
      await library.database.transaction((tx) => write(tx, 'next'))
      expect(await witness.ids()).toEqual(['next'])
    })

    test('a nested transaction whose rollback got no answer takes the outer one with it', async () => {
      const seen = new Seen()
      const error = await givenUp(async (tx) => {
        seen.listenTo(library.database.enlist(tx))
        await write(tx, 'outer')
        const nested = library.database.transaction(async (inner) => {
          await write(inner, 'inner')
          proxy.hold('TO_TARGET')
          throw new Error('inner')
        })
        await expect(nested).rejects.toThrow('inner')
        proxy.heal()
        await write(tx, 'outer goes on')
      })
      expect(String(error)).toContain('timeout')
      expect(seen.calls).toEqual(['rolled back'])
      expect(await witness.ids()).toEqual([])
    })
  })
}
