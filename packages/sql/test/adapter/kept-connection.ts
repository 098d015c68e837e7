import type { SqlConnection } from '@waybill/core/internal'
import { createFaultProxy, eventually } from '@waybill/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { OpenedLibrary, Witness } from './opened-library.ts'

const ask = (connection: SqlConnection) => connection.query('select 1', [])

/** Behavior of a connection that is kept. */
export function describeKeptConnections<Tx>(
  witness: Witness,
  url: string,
  open: (url: string) => Promise<OpenedLibrary<Tx>>,
): void {
  describe('behind a network that breaks', () => {
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

    async function keep() {
      const kept = await library.database.keepConnection?.()
      if (kept === undefined) throw new Error('The library keeps no connection.')
      return kept
    }

    test('a kept connection serves while all others are in use, and survives a refused statement', async ({ skip }) => {
      skip(library.database.keepConnection === undefined, 'its pool is hidden')
      const kept = await keep()
      const held = Promise.withResolvers<void>()
      const others = Array.from({ length: 4 }, () => library.database.transaction(() => held.promise))
      await expect(
        kept.run((connection) => connection.query('select nonsense from things', [])),
      ).rejects.toBeInstanceOf(Error)
      const failed = kept.run(async (connection) => {
        await connection.query('BEGIN', [])
        await connection.query("insert into things (id) values ('lost')", [])
        throw new Error('halfway')
      })
      await expect(failed).rejects.toThrow('halfway')
      await kept.run((connection) => connection.query("insert into things (id) values ('kept')", []))
      expect(kept.isLost).toBe(false)
      held.resolve()
      await Promise.all(others)
      expect(await witness.ids()).toEqual(['kept'])
      await kept[Symbol.asyncDispose]()
      await witness.clear()
    })

    test('a kept connection that breaks while it is idle ends nothing else, and another one can be kept', async ({
      skip,
    }) => {
      skip(library.database.keepConnection === undefined, 'its pool is hidden')
      const kept = await keep()
      proxy.cut()
      await expect(kept.run(ask)).rejects.toBeInstanceOf(Error)
      expect(kept.isLost).toBe(true)
      await kept[Symbol.asyncDispose]()
      // The pool may lend others that broke.
      await eventually(async () => {
        await using next = await keep()
        await next.run(ask)
      })
    })
  })
}
