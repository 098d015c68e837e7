import { NoTransactionError, type TxContext, WorkNotAwaitedError } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { heldWrite } from '../../src/write/held-write.ts'
import { createAmbientWriter } from '../../src/write/writer.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const plain: TxContext = {
  endIsSeen: true,
  isTransactionActive: () => true,
  currentConnection: () => expect.unreachable(),
  afterCommit: () => {},
  afterRollback: () => {},
}

/** A transaction that notes what holds its commit. */
function holding() {
  const held: string[] = []
  const promises: Promise<unknown>[] = []
  const tx: TxContext = {
    ...plain,
    during(what, work) {
      held.push(what())
      const running = work()
      promises.push(running)
      return running
    },
  }
  return { tx, held, promises }
}

describe('a write', () => {
  test('holds the commit of a transaction that lets it, by the very promise that the caller gets', async () => {
    const { tx, held, promises } = holding()
    const write = heldWrite(() => ({ tx, eventTypes: () => ['order.placed'], work: async () => 'id' }))
    expect(held).toEqual(['the write of order.placed'])
    expect(promises).toEqual([write])
    expect(promises[0]).toBe(write)
    expect(await write).toBe('id')
  })

  test('is just done in a transaction whose end is not in these hands', async () => {
    const written = await heldWrite(() => ({
      tx: plain,
      eventTypes: () => expect.unreachable(),
      work: async () => 'id',
    }))
    expect(written).toBe('id')
  })

  test('rejects and does not throw where there is no transaction', async () => {
    const refused = heldWrite(() => {
      throw new NoTransactionError()
    })
    await expect(refused).rejects.toThrow(NoTransactionError)
  })

  test('of the ambient transaction holds it too, and names each type once', async () => {
    const { tx, held } = holding()
    const { clock } = createVirtualRuntime(1)
    const writer = createAmbientWriter(tx, async () => ['a'], { clock, nextId: () => 'id' })
    await writer.write('order.placed', '{}')
    await writer.writeAll([orderEvent(1), orderEvent(2)])
    const { eventType } = orderEvent(1)
    expect(held).toEqual(['the write of order.placed', `the write of ${eventType}`])
  })
})

describe('the error of work that was not awaited', () => {
  test('counts what is under way more than once', () => {
    const write = 'the write of order.placed'
    const error = new WorkNotAwaitedError([write, 'a nested transaction', write])
    expect(error.message).toContain(`before something in it: ${write} (2 times), a nested transaction.`)
    expect(error.underWay).toEqual([write, 'a nested transaction', write])
  })

  test('says how a list is written, one after the other: a driver runs no two statements at once', () => {
    const { hint } = new WorkNotAwaitedError(['the write of order.placed'])
    expect(hint).toContain('database.transaction or in the handler.')
    expect(hint).toContain('for … of with await; forEach(async …) awaits nothing.')
    expect(hint).not.toContain('Promise.all')
  })

  test('names five at most', () => {
    const error = new WorkNotAwaitedError(Array.from({ length: 8 }, (_, index) => `write ${index}`))
    expect(error.message).toContain('write 3, write 4, 3 more.')
  })
})
