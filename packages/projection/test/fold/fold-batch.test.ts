import type { StoredRow } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { ProjectionStateError } from '../../src/definition/projection-errors.ts'
import { checkRows } from '../../src/fold/check-state.ts'
import { absentRow, foldBatch } from '../../src/fold/fold-batch.ts'
import { accounts, balances, balancesByPosition, credited, event, opened } from '../test-accounts.ts'

const open = { balance: '10', currency: 'EUR', status: 'OPENED' } as const
const rowOf = (key: string, version: number, state: StoredRow['state'] = open): StoredRow => ({
  key,
  version,
  state,
  isQuarantined: false,
})

describe('a batch', () => {
  test('becomes one row for each key, in the order of the keys', () => {
    const result = foldBatch(
      balances,
      [],
      [opened('b', 1), opened('a', 1), credited('b', 2, '5'), credited('a', 2, '1')],
    )
    expect(result).toEqual({
      rows: [rowOf('a', 2, { ...open, balance: '11' }), rowOf('b', 2, { ...open, balance: '15' })],
      applied: 4,
      repeated: 0,
      stop: undefined,
    })
  })

  test('of repeats writes nothing', () => {
    const result = foldBatch(balances, [rowOf('a', 2)], [opened('a', 1), credited('a', 2)])
    expect(result).toEqual({ rows: [], applied: 0, repeated: 2, stop: undefined })
  })

  test('stops at a gap and keeps what comes before it', () => {
    const { rows, stop } = foldBatch(balances, [rowOf('a', 1)], [credited('a', 2), credited('a', 4), opened('b', 1)])
    expect(rows).toEqual([rowOf('a', 2, { ...open, balance: '11' })])
    expect(stop).toMatchObject({ index: 1, key: 'a', reason: 'GAP', expected: 3, found: 4 })
  })

  test('of an unknown key must begin with version 1', () => {
    expect(foldBatch(balances, [], [credited('a', 2)]).stop).toMatchObject({ reason: 'GAP', expected: 1, found: 2 })
  })

  test('stops at an event whose fold throws', () => {
    const { rows, stop } = foldBatch(balances, [rowOf('a', 1)], [credited('a', 2, 'poison')])
    expect(rows).toEqual([])
    expect(stop).toMatchObject({ index: 0, reason: 'POISON', expected: 2, found: 2 })
    expect(stop?.error.cause).toBeInstanceOf(RangeError)
  })

  test('stops at an event of a quarantined key, and skips its repeats', () => {
    const stored = { ...rowOf('a', 2), isQuarantined: true }
    const { repeated, stop } = foldBatch(balances, [stored], [credited('a', 2), credited('a', 5)])
    expect(repeated).toBe(1)
    expect(stop).toMatchObject({ index: 1, reason: 'QUARANTINED', expected: 3, found: 5 })
  })

  test('stops at an event without a version', () => {
    for (const version of [null, 0])
      expect(foldBatch(balances, [], [opened('a', version)]).stop).toMatchObject({ reason: 'INPUT', index: 0 })
  })
})

describe('an event', () => {
  test('without a function raises the version and keeps the state', () => {
    const { rows } = foldBatch(balances, [rowOf('a', 1)], [event('AccountRenamed', 'a', 2, {})])
    expect(rows).toEqual([rowOf('a', 2)])
  })

  test('that deletes the row keeps its version, so that a repeat does not bring it back', () => {
    const { rows } = foldBatch(balances, [rowOf('a', 1)], [event('AccountErased', 'a', 2, {}), opened('a', 1)])
    expect(rows).toEqual([{ ...absentRow('a'), version: 2 }])
  })

  test('by position raises the version whatever its own is', () => {
    const { rows } = foldBatch(balancesByPosition, [], [opened('a', null), credited('a', 7, '1')])
    expect(rows).toEqual([rowOf('a', 2, { ...open, balance: '11' })])
  })
})

describe('a function', () => {
  const noted = z.looseObject({
    balance: z.string(),
    notes: z.array(z.string()).nullable(),
    seal: z.instanceof(Uint8Array),
  })
  const columns = { balance: 'decimal', notes: 'json', seal: 'bytes' } as const
  const before = { balance: '1', notes: ['opened'], seal: Buffer.from([1]) }

  test('that changes the row it was given and then throws leaves no trace', () => {
    const careless = defineProjection({ name: 'careless', events: accounts, state: noted, columns }).on({
      FundsCredited(state, { payload }) {
        if (state === undefined) return undefined
        state.balance = payload.amount
        state.notes?.push(payload.amount)
        state.seal[0] = 9
        if (payload.amount === '3') throw new RangeError('too late')
        return state
      },
    })
    const stored = rowOf('a', 1, structuredClone(before))
    const { rows, stop } = foldBatch(careless, [stored], [credited('a', 2, '2'), credited('a', 3, '3')])
    expect(stop).toMatchObject({ index: 1, reason: 'POISON' })
    expect(rows).toEqual([rowOf('a', 2, { balance: '2', notes: ['opened', '2'], seal: Buffer.from([9]) })])
    expect(stored.state).toEqual(structuredClone(before))
  })

  test('sees the columns alone, whether the row was just computed or read', () => {
    const counting = defineProjection({ name: 'counting', events: accounts, state: noted, columns }).on({
      FundsCredited(state) {
        const seen = Number(state?.['seen'] ?? 0) + 1
        return { ...before, balance: String(seen), seen }
      },
    })
    const { rows } = foldBatch(counting, [], [credited('a', 1), credited('a', 2)])
    expect(rows).toEqual([rowOf('a', 2, before)])
  })
})

test('a stored row that does not match the schema is not built on', () => {
  const stored = rowOf('a', 1, { ...open, status: 'GONE' })
  expect(() => checkRows(balances, [rowOf('b', 1), stored])).toThrow(ProjectionStateError)
})

test('a new state that does not match the schema is poison for its key alone, and is not written', () => {
  const bounded = defineProjection({
    name: 'bounded',
    events: accounts,
    state: z.object({ balance: z.string().max(2) }),
    columns: { balance: 'decimal' },
  }).on({ AccountOpened: (_, { payload }) => ({ balance: payload.balance }) })
  const { rows, stop } = foldBatch(bounded, [], [opened('a', 1, '10'), opened('b', 1, '100'), opened('c', 1, '1')])
  expect(rows.map(({ key }) => key)).toEqual(['a'])
  expect(stop).toMatchObject({ index: 1, key: 'b', reason: 'POISON' })
  expect(String(stop?.error.cause)).toMatch(/The state does not match its schema: balance/)
})

test('any batching, repetition and order across keys ends with the fold of the events', () => {
  const histories = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(histories, fc.infiniteStream(fc.nat()), (keys, random) => {
      const draw = (bound: number): number => (random.next().value as number) % bound
      // Each key's events in order, any of them repeated after a later one, mixed with those of other keys.
      const queues = keys.map((amounts, key) => [
        opened(`k${key}`, 1, '0'),
        ...amounts.map((a, i) => credited(`k${key}`, i + 2, `${a}`)),
      ])
      const delivered = queues.map(() => 0)
      const stream = []
      while (delivered.some((count, key) => count < (queues[key]?.length ?? 0))) {
        const key = draw(queues.length)
        const queue = queues[key] ?? []
        const at = draw(Math.min((delivered[key] ?? 0) + 1, queue.length))
        if (at === delivered[key]) delivered[key] = at + 1
        stream.push(...queue.slice(at, at + 1))
      }
      let rows: readonly StoredRow[] = []
      while (stream.length > 0) {
        const result = foldBatch(balances, rows, stream.splice(0, 1 + draw(5)))
        expect(result.stop).toBeUndefined()
        rows = [...new Map([...rows, ...result.rows].map((row) => [row.key, row])).values()]
      }
      for (const [key, amounts] of keys.entries()) {
        const balance = String(amounts.reduce((sum, amount) => sum + amount, 0))
        expect(rows.find((row) => row.key === `k${key}`)).toEqual(
          rowOf(`k${key}`, amounts.length + 1, { ...open, balance }),
        )
      }
    }),
  )
})
