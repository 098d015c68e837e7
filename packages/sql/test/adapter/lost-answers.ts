import { UnknownCommitError } from '@waybill/core'
import { createFaultProxy, eventually } from '@waybill/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { classifySqlError } from '../../src/error/classify-sql-error.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import type { OpenedLibrary, Witness } from './opened-library.ts'
import { Seen } from './seen.ts'
import { writeWith } from './write-with.ts'

/** Behavior of a transaction whose statements or responses are lost in transit. */
export function describeLostAnswers<Tx>(
  witness: Witness,
  url: string,
  open: (url: string) => Promise<OpenedLibrary<Tx>>,
): void {
  describe('behind a network that loses answers', () => {
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

    test('a commit without an answer is unknown: neither committed nor rolled back, and the next one works', async () => {
      const seen = new Seen()
      const lost = library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        seen.listenTo(context)
        await writeWith(library.database, context, 'unknown')
        // Late enough that the witness sees the row before the answer to COMMIT arrives.
        proxy.delay({ toClientMs: 1_000 })
      })
      const outcome: Promise<unknown> = lost.catch((error: unknown) => error)
      await eventually(async () => expect(await witness.ids()).toEqual(['unknown']))
      proxy.cut()
      proxy.heal()
      expect(await outcome).toBeInstanceOf(UnknownCommitError)
      expect(seen.calls).toEqual(['unknown'])

      await eventually(() =>
        library.database.transaction(
          async (tx) => void (await writeWith(library.database, library.database.enlist(tx), 'next')),
        ),
      )
      expect(await witness.ids()).toEqual(['next', 'unknown'])
    })

    test('a connection that is lost before the commit rolls back', async () => {
      const seen = new Seen()
      const lost = library.database.transaction(async (tx) => {
        const context = library.database.enlist(tx)
        seen.listenTo(context)
        await writeWith(library.database, context, 'lost')
        proxy.cut()
        await writeWith(library.database, context, 'never')
      })
      const error: unknown = await lost.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(UnknownCommitError)
      expect(seen.calls).toEqual(['rolled back'])
      expect(await witness.ids()).toEqual([])
    })

    test('a connection that is lost at the end of a nested transaction is told as that, and not as an end of its own', async () => {
      const [outer, inner] = [new Seen(), new Seen()]
      const lost = library.database.transaction(async (tx) => {
        outer.listenTo(library.database.enlist(tx))
        await library.database.transaction(async (nested) => {
          const context = library.database.enlist(nested)
          inner.listenTo(context)
          await writeWith(library.database, context, 'lost')
          proxy.cut()
        })
      })
      const error: unknown = await lost.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(TransactionEndedError)
      expect(classifySqlError(error, 'IN_TRANSACTION')).toBe('RETRIABLE')
      expect([outer.calls, inner.calls]).toEqual([['rolled back'], ['rolled back']])
      expect(await witness.ids()).toEqual([])
    })
  })
}
