import { describe, expect, test } from 'vitest'
import { encodeCommitMetadata } from '../../../src/ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt } from '../../../src/ledger/ledger.ts'
import { done, failure, inScene } from './transaction-scene.ts'

describe('a partition of a transactional binding', () => {
  test('runs one handler at a time, also when a transaction ends between two', () =>
    inScene(async ({ accept, deliveries, end, transactions, settle }) => {
      accept(0, 1, 2, 3, 4, 5)
      for (let offset = 0n; offset < 6n; offset++) {
        await settle()
        expect(deliveries.map(({ work }) => work.offset)).toEqual([offset])
        await end(done)
      }
      expect(transactions.flatMap(({ records }) => records)).toEqual([
        'out 0',
        'out 1',
        'out 2',
        'out 3',
        'out 4',
        'out 5',
      ])
      expect(transactions.at(-1)?.offset).toBe(6n)
    }))

  test('gathers while a transaction is written, up to its bounds', () =>
    inScene(async ({ accept, deliveries, end, transactions, commits, state, settle, worker }) => {
      state.isHeld = true
      accept(0, 1, 2, 3, 4, 5)
      for (let count = 0; count < 4; count++) await end(done)
      // One is being written, and as many wait as the next may hold.
      expect(deliveries).toEqual([])
      expect(worker.status()).toMatchObject({ unconfirmed: 4, buffered: 2, committed: 0n })
      commits.shift()?.()
      await settle()
      expect(deliveries).toHaveLength(1)
      commits.shift()?.()
      await settle()
      expect(transactions.map(({ records, offset }) => [records.length, offset])).toEqual([
        [1, 1n],
        [3, 4n],
      ])
    }))

  test('writes nothing of a handler that failed but its retry or dead letter record', () =>
    inScene(async ({ accept, end, transactions }) => {
      accept(0, 1, 2)
      await end({ kind: 'RETRY', tier: 1, attempt: 1, failure })
      await end({ kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure })
      await end({ kind: 'SKIP', cause: 'BEST_EFFORT', failure })
      const topics = transactions.flatMap(({ records }) => records.map((record) => record.split(' ')[0]))
      expect(topics).toEqual(['orders.retry-1', 'orders.DLT'])
      expect(transactions.at(-1)).toMatchObject({ offset: 3n })
      expect(transactions.at(-1)?.metadata).toContain('o=0 r=1 d=1 k=1 h=0')
    }))

  test('keeps a record that stays where it is, and those behind it', () =>
    inScene(async ({ accept, deliveries, end, worker, settle }) => {
      accept(0, 1)
      await end({ kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' })
      expect(deliveries).toEqual([])
      expect(worker.status()).toMatchObject({ buffered: 2, pausedBy: ['EXHAUSTED'] })
      worker.resume('EXHAUSTED')
      await settle()
      expect(deliveries.map(({ work }) => work.offset)).toEqual([0n])
    }))

  test('commits holes in a transaction of their own once it has nothing else to do, and never what it forgot', () =>
    inScene(async ({ accept, end, transactions, state, worker, settle }) => {
      accept(0, 1)
      state.position = 5n
      worker.polled()
      await settle()
      expect(transactions).toEqual([])
      await end(done)
      expect(transactions.map(({ offset }) => offset)).toEqual([1n])
      const draining = worker.drain(1_000)
      await end(done)
      await draining
      expect(transactions.map(({ offset }) => offset)).toEqual([1n, 2n])
      worker.polled()
      await settle()
      expect(transactions).toHaveLength(2)
    }))

  test('commits the end of a log that has no more records', () =>
    inScene(async ({ accept, end, transactions, state, worker, settle }) => {
      accept(0)
      await end(done)
      state.position = 2n
      worker.polled()
      await settle()
      expect(transactions.map(({ offset, records }) => [offset, records.length])).toEqual([
        [1n, 1],
        [2n, 0],
      ])
      worker.repeatCommit()
      await settle()
      expect(transactions.slice(2).map(({ offset, records }) => [offset, records.length])).toEqual([[2n, 0]])
      expect(worker.pendingCommit()).toBeUndefined()
    }))

  test('drains: what is decided is written, and what is queued is left to the next owner', () =>
    inScene(async ({ accept, deliveries, end, commits, state, transactions, worker, settle }) => {
      state.isHeld = true
      accept(0, 1, 2)
      await end(done)
      const draining = worker.drain(10_000)
      let isDrained = false
      const watching = (async () => {
        await draining
        isDrained = true
      })()
      await end(done)
      expect(deliveries).toEqual([])
      for (let count = 0; count < 2; count++) {
        expect(isDrained).toBe(false)
        commits.shift()?.()
        await settle()
      }
      await watching
      expect(transactions.map(({ offset }) => offset)).toEqual([1n, 2n])
    }))

  test('I12 a tier starts a record one delay after it was published there', () =>
    inScene(
      async ({ accept, place, runtime, running, settle }) => {
        accept(0)
        await runtime.timers.sleep(place.delayMs - 1)
        expect(running()).toEqual([])
        await settle()
        expect(running()).toEqual([0n])
      },
      { tier: 1 },
    ))

  test('I17 fetches no more while too much of it waits', () =>
    inScene(
      async ({ accept, end, worker }) => {
        accept(0, 1, 2)
        expect(worker.status().pausedBy).toEqual(['BACKPRESSURE'])
        await end(done)
        await end(done)
        expect(worker.status().pausedBy).toEqual([])
      },
      { maxBufferedRecords: 2 },
    ))

  test('leaves out what an earlier owner has settled above its commit', () => {
    const ledger = new Ledger(ledgerStateAt(0n))
    for (const offset of [0n, 1n, 2n]) ledger.fetched(offset)
    ledger.settle(1n, 'OK')
    const committed = { offset: 0n, metadata: encodeCommitMetadata(ledger.state()) }
    return inScene(
      async ({ accept, end, running, transactions }) => {
        accept(0, 1, 2)
        await end(done)
        expect(running()).toEqual([2n])
        await end(done)
        expect(transactions.map(({ offset }) => offset)).toEqual([2n, 3n])
        expect(transactions.at(-1)?.metadata).toContain('o=3 r=0 d=0 k=0 h=0')
      },
      { committed },
    )
  })

  test('begins anew where a log was cut: what was on its way then counts no more', () =>
    inScene(async ({ accept, commits, end, settle, state, transactions, worker }) => {
      accept(0, 1, 2, 3)
      await end(done)
      await end(done)
      state.isHeld = true
      await end(done)
      state.isHeld = false
      worker.positionLost(1n)
      await end(done)
      commits.shift()?.()
      await settle()
      expect(worker.status()).toMatchObject({ committed: 1n, unconfirmed: 0, buffered: 0 })
      accept(1)
      await end(done)
      expect(transactions.at(-1)).toMatchObject({ offset: 2n, records: ['out 1'] })
    }))

  test('reads again what is not written when a log was cut behind it', () =>
    inScene(async ({ accept, end, running, sought, transactions, worker }) => {
      accept(0, 1, 2, 3, 4, 5)
      await end(done)
      worker.positionLost(4n)
      expect(sought).toEqual([1n])
      await end(done)
      expect(running()).toEqual([])
      accept(1, 2, 3, 4)
      for (let offset = 1; offset < 5; offset++) await end(done)
      expect(transactions.flatMap(({ records }) => records)).toEqual(['out 0', 'out 1', 'out 2', 'out 3', 'out 4'])
      expect(worker.status().committed).toBe(5n)
    }))

  test('writes nothing twice of a transaction that was under way when a log was cut (I13)', () =>
    inScene(async ({ accept, commits, end, running, settle, sought, state, transactions, worker }) => {
      accept(0, 1, 2, 3)
      state.isHeld = true
      await end(done)
      await end(done)
      state.isHeld = false
      worker.positionLost(3n)
      accept(3) // Where reading goes on until it is known what has to be read again.
      await settle()
      expect(sought).toEqual([])
      commits.shift()?.()
      await end(done)
      expect(sought).toEqual([1n])
      expect(running()).toEqual([])
      accept(1, 2, 3)
      for (let offset = 1; offset < 4; offset++) await end(done)
      expect(transactions.flatMap(({ records }) => records)).toEqual(['out 0', 'out 1', 'out 2', 'out 3'])
      expect(worker.status()).toMatchObject({ committed: 4n, buffered: 0, unconfirmed: 0 })
    }))

  test('goes on where reading does when that is behind what was read: nothing is read again', () =>
    inScene(async ({ accept, running, sought, worker }) => {
      accept(0, 1)
      worker.positionLost(2n)
      expect(sought).toEqual([])
      expect(running()).toEqual([0n])
    }))

  test('a result that comes after the partition is lost changes nothing', () =>
    inScene(async ({ accept, end, transactions, worker }) => {
      accept(0)
      worker.lose()
      await end(done)
      expect(transactions).toEqual([])
    }))
})
