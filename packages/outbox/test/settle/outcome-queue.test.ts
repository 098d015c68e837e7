import type { LeaseFence } from '@waybill/outbox/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { done, type Outcome } from '../../src/dispatch/row-outcome.ts'
import { OutcomeQueue, type SettleBatch } from '../../src/settle/outcome-queue.ts'

interface Row {
  readonly at: number
  readonly key: string | null
}

const one: LeaseFence = { kind: 'LEASE', owner: 'a', version: 1n }
const other: LeaseFence = { kind: 'LEASE', owner: 'a', version: 1n }
const retry: Outcome = { kind: 'RETRY', delayMs: 1, error: 'e' }
const dead: Outcome = { kind: 'DEAD', error: 'e' }

function queueOf(...rows: readonly (readonly [key: string | null, outcome?: Outcome, fence?: LeaseFence])[]) {
  const queue = new OutcomeQueue<Row>()
  for (const [at, [key, outcome = done, fence = one]] of rows.entries()) queue.add({ at, key }, key, fence, outcome)
  return queue
}

function taken(batch: SettleBatch<Row> | undefined): number[] | undefined {
  return batch?.rows.map(({ at }) => at)
}

describe('a statement', () => {
  test('takes outcomes of one kind past those of another, except behind an earlier one of their key', () => {
    const queue = queueOf(['a'], ['b', dead], ['b'], ['c'], ['a'])
    expect(taken(queue.take(10))).toEqual([0, 3, 4])
    expect(taken(queue.take(10))).toEqual([1])
    expect(taken(queue.take(10))).toBeUndefined()
  })

  test('takes outcomes of one fence past those of another, except behind an earlier one of their key', () => {
    const queue = queueOf(['a'], ['b', done, other], ['b'], ['c'])
    expect(taken(queue.take(10))).toEqual([0, 3])
    expect(taken(queue.take(10))).toEqual([1])
    expect(taken(queue.take(10))).toBeUndefined()
  })

  test('takes no outcome of a key behind one of another kind that follows its own', () => {
    const queue = queueOf(['a'], ['a', dead], ['a'])
    const first = queue.take(10)
    expect(taken(first)).toEqual([0])
    expect(taken(queue.take(10))).toBeUndefined()
    queue.answered(first as SettleBatch<Row>)
    expect(taken(queue.take(10))).toEqual([1])
  })

  test('takes rows without a key whatever is unanswered', () => {
    const queue = queueOf([null], [null], [null, dead], [null])
    expect(taken(queue.take(2))).toEqual([0, 1])
    expect(taken(queue.take(2))).toEqual([2])
    expect(taken(queue.take(2))).toEqual([3])
    expect(queue.size).toBe(0)
  })
})

test('outcomes of a key wait for its answer, and precede all others then', () => {
  const queue = queueOf(['a'], ['b'])
  const first = queue.take(1) as SettleBatch<Row>
  queue.add({ at: 2, key: 'a' }, 'a', one, done)
  queue.add({ at: 3, key: 'a' }, 'a', one, done)
  expect(taken(queue.take(10))).toEqual([1])
  expect([queue.size, queue.ready]).toEqual([2, 0])
  queue.add({ at: 4, key: 'c' }, 'c', one, done)
  queue.answered(first)
  expect(taken(queue.take(10))).toEqual([2, 3, 4])
})

test('I22 locked rows keep all outcomes of their keys, and no others', () => {
  const queue = queueOf(['a'], ['b'], [null], ['a'], [null], ['c'])
  const first = queue.take(10) as SettleBatch<Row>
  queue.add({ at: 6, key: 'a' }, 'a', one, done)
  queue.add({ at: 7, key: 'b' }, 'b', one, done)
  expect(taken(queue.take(10))).toBeUndefined()
  const { free, locked } = queue.split(first, ({ at }) => at === 3 || at === 4)
  expect([taken(free), taken(locked), queue.locked]).toEqual([[1, 2, 5], [0, 3, 4], 4])
  expect(['a', 'b', 'c'].map((key) => queue.isLocked(key))).toEqual([true, false, false])
  queue.answered(free as SettleBatch<Row>)
  queue.add({ at: 8, key: 'a' }, 'a', one, done)
  expect(taken(queue.take(10))).toEqual([7])
  const later = queue.split(locked as SettleBatch<Row>, () => false)
  expect([taken(later.free), later.locked, queue.locked]).toEqual([[0, 3, 4], undefined, 0])
  queue.answered(later.free as SettleBatch<Row>)
  expect(taken(queue.take(10))).toEqual([6, 8])
})

test('removed outcomes are never taken, whether they are ready or wait for an answer', () => {
  const queue = queueOf(['a'], ['a', dead], ['b'], ['b', dead], [null])
  const first = queue.take(10) as SettleBatch<Row>
  queue.add({ at: 5, key: 'c' }, 'c', one, done)
  expect(queue.remove(({ key }) => key === 'a' || key === 'c').map(({ row }) => row.at)).toEqual([1, 5])
  queue.answered(first)
  expect(taken(queue.take(10))).toEqual([3])
  expect(queue.size).toBe(0)
})

test('I22 whatever is decided and answered, each outcome is taken once and each key is a prefix of its decisions', () => {
  const row = fc.record({
    key: fc.constantFrom('a', 'b', 'c', null),
    outcome: fc.constantFrom(done, done, retry, dead),
    fence: fc.constantFrom(one, other),
  })
  const step = fc.oneof(row, fc.constant('TAKE' as const), fc.nat({ max: 1 }), fc.constant('REMOVE_B' as const))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const queue = new OutcomeQueue<Row>()
      const open: SettleBatch<Row>[] = []
      /** Rows that are not answered yet, in the order of their decisions. */
      let left: Row[] = []
      let decided = 0
      const take = (): boolean => {
        const batch = queue.take(limit)
        if (batch === undefined) return false
        expect(batch.rows.length).toBeLessThanOrEqual(limit)
        for (const { key, at } of batch.rows) {
          const earlier = left.filter((before) => key !== null && before.key === key && before.at < at)
          expect(earlier.every((before) => batch.rows.includes(before))).toBe(true)
        }
        open.push(batch)
        return true
      }
      const answer = (at: number): void => {
        const [batch] = open.splice(at, 1)
        if (batch === undefined) return
        expect(batch.rows.every((one_) => left.includes(one_))).toBe(true)
        left = left.filter((one_) => !batch.rows.includes(one_))
        queue.answered(batch)
      }
      for (const what of steps) {
        if (what === 'TAKE') take()
        else if (what === 'REMOVE_B') {
          const removed = new Set(queue.remove(({ key }) => key === 'b').map((gone) => gone.row))
          left = left.filter((one_) => !removed.has(one_))
        } else if (typeof what === 'number') answer(what)
        else {
          const added: Row = { at: decided++, key: what.key }
          left.push(added)
          queue.add(added, what.key, what.fence, what.outcome)
        }
        expect(queue.size).toBe(left.length - open.flatMap(({ rows }) => rows).length)
      }
      while (take() || open.length > 0) if (open.length > 1 || queue.ready === 0) answer(0)
      expect([left, queue.size]).toEqual([[], 0])
    }),
    { numRuns: 400 },
  )
})

test('outcomes of a busy key are visited once while its statement is unanswered', () => {
  const queue = new OutcomeQueue<Row>()
  for (let at = 0; at < 2_000; at++) queue.add({ at, key: 'busy' }, 'busy', one, done)
  queue.take(1)
  expect(taken(queue.take(500))).toBeUndefined()
  expect([queue.size, queue.ready]).toEqual([1_999, 0])
})
