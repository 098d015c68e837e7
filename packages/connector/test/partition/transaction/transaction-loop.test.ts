import { Buffer } from 'node:buffer'
import { KafkaError } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { done, failure, inScene } from './transaction-scene.ts'

const exhausted = { kind: 'PAUSE', cause: 'EXHAUSTED', failure, scope: 'PARTITION' } as const
const retry = { kind: 'RETRY', tier: 1, attempt: 1, failure } as const
const deadLetter = { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure } as const
const forbidden = new KafkaError('not allowed', 'FATAL', { reason: 'TOPIC_AUTHORIZATION_FAILED' })
const tooLarge = new KafkaError('too large', 'FATAL', { reason: 'MESSAGE_TOO_LARGE' })

describe('what is decided while a transaction is written', () => {
  test('is no more bytes than the next may hold', () =>
    inScene(
      async ({ accept, end, running, state, worker }) => {
        state.isHeld = true
        accept(0, 1, 2, 3)
        for (let count = 0; count < 3; count++) await end(done)
        expect(running()).toEqual([])
        expect(worker.status().unconfirmed).toBe(3)
      },
      { transactional: { maxRecords: 100, maxBytes: 2_000 } },
    ))

  test('L5 is no more records than a kill may repeat', () =>
    inScene(
      async ({ accept, commits, end, running, settle, state }) => {
        state.isHeld = true
        accept(0, 1, 2, 3)
        for (let count = 0; count < 3; count++) await end(done)
        expect(running()).toEqual([])
        commits.shift()?.()
        await settle()
        expect(running()).toEqual([3n])
      },
      { maxAhead: 3 },
    ))
})

test('L1 what is more than can be written in its time is written in parts, and these grow again', () =>
  inScene(
    async ({ accept, commits, end, running, runtime, settle, state, transactions, worker }) => {
      state.isHeld = true
      accept(0, 1, 2, 3, 4)
      for (let count = 0; count < 5; count++) await end(done)
      expect(running()).toEqual([])
      let sent = 0
      state.refusalOf = () => (++sent % 4 === 3 ? new KafkaError('too late', 'RETRIABLE') : undefined)
      state.isHeld = false
      commits.shift()?.()
      await runtime.timers.sleep(5_000)
      expect(transactions.map(({ records }) => records.length)).toEqual([1, 2, 2])
      expect(worker.status()).toMatchObject({ unconfirmed: 0, trouble: undefined })
      state.refusalOf = () => undefined
      accept(5, 6, 7)
      for (let count = 0; count < 3; count++) await end(done)
      await settle()
      expect(transactions.flatMap(({ records }) => records)).toHaveLength(8)
    },
    { transactional: { maxRecords: 100 } },
  ))

test('what happened is told when it is committed, and not before', () =>
  inScene(async ({ accept, commits, dead, end, metrics, settle, state }) => {
    const told = (): unknown => [
      metrics.total('eventbus.records.processed', {}),
      metrics.total('eventbus.records.skipped', {}),
      dead,
    ]
    state.isHeld = true
    accept(0, 1, 2, 3)
    await end(done)
    await end(deadLetter)
    await end({ kind: 'SKIP', cause: 'BEST_EFFORT', failure })
    expect(told()).toEqual([0, 0, []])
    for (let count = 0; count < 2; count++) {
      commits.shift()?.()
      await settle()
    }
    expect(told()).toEqual([1, 1, [1n]])
  }))

describe('an output that its topic refuses for good', () => {
  test('makes its record fail: nothing starts beside the second look, and all behind one that stays run again', () =>
    inScene(async ({ accept, end, endUncalled, running, settle, state, transactions, worker }) => {
      state.refusalOf = ({ value }) => (String(value) === '1' ? forbidden : undefined)
      accept(0, 1, 2, 3)
      await end(done)
      await end(done)
      // The handler of 2 runs already, and is waited for.
      expect(running()).toEqual([2n])
      await end(done)
      expect(running()).toEqual([1n])
      await endUncalled(exhausted)
      expect(worker.status()).toMatchObject({ buffered: 3, unconfirmed: 0, pausedBy: ['EXHAUSTED'] })
      state.refusalOf = () => undefined
      worker.resume('EXHAUSTED')
      await settle()
      for (const offset of [1n, 2n, 3n]) {
        expect(running()).toEqual([offset])
        await end(done)
      }
      expect(transactions.flatMap(({ records }) => records)).toEqual(['out 0', 'out 1', 'out 2', 'out 3'])
    }))

  test('is written as the retry record that its failure makes', () =>
    inScene(async ({ accept, end, endUncalled, state, transactions }) => {
      state.refusalOf = ({ topic }) => (topic === 'out' ? forbidden : undefined)
      accept(0)
      await end(done)
      await endUncalled(retry)
      expect(transactions.map(({ records, offset }) => [records, offset])).toEqual([[['orders.retry-1 value'], 1n]])
    }))
})

describe('a retry or dead letter record that its topic refuses', () => {
  test('is written with less when it is too large', () =>
    inScene(async ({ accept, end, state, transactions }) => {
      const sizes: number[] = []
      state.refusalOf = ({ headers = [] }) => {
        sizes.push(Buffer.concat([...headers].map(([, text]) => text ?? Buffer.alloc(0))).length)
        return sizes.length === 1 ? tooLarge : undefined
      }
      accept(0)
      await end(retry)
      expect(sizes).toHaveLength(2)
      expect(sizes[1]).toBeLessThan(sizes[0] as number)
      expect(transactions.map(({ records }) => records)).toEqual([['orders.retry-1 value']])
    }))

  test('is a dead letter when no form of a retry record fits', () =>
    inScene(async ({ accept, dead, end, state, transactions }) => {
      state.refusalOf = ({ topic }) => (topic === 'orders.retry-1' ? tooLarge : undefined)
      accept(0)
      await end(retry)
      expect(transactions.map(({ records }) => records)).toEqual([['orders.DLT value']])
      expect(dead).toEqual([0n])
    }))

  test('is written again once a second, and is the trouble of its partition meanwhile', () =>
    inScene(async ({ accept, end, runtime, state, transactions, worker }) => {
      let sends = 0
      state.refusalOf = () => {
        sends++
        return forbidden
      }
      accept(0)
      await end(deadLetter)
      await runtime.timers.sleep(2_500)
      expect(sends).toBe(3)
      expect(worker.status().trouble).toContain('orders.DLT')
      state.refusalOf = () => undefined
      await runtime.timers.sleep(1_000)
      expect(transactions.map(({ records }) => records)).toEqual([['orders.DLT value']])
      expect(worker.status()).toMatchObject({ trouble: undefined, pausedBy: [] })
    }))
})
