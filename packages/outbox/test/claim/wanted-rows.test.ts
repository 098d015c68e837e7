import { expect, test } from 'vitest'
import type { PendingQuery, PendingRow } from '../../src/api/outbox-store.ts'
import { wantedRows } from '../../src/claim/wanted-rows.ts'
import { orderEvent } from '../support/outbox-harness.ts'

const query: PendingQuery = { status: 'NEW', limit: 5, maxBytes: 1_000, skipRecentMs: 0, floor: null, shards: null }

const none = (): boolean => false

/** Rows with these numbers. */
function rowsOf(...seqs: readonly number[]): PendingRow[] {
  return seqs.map((n) => ({ seq: BigInt(n), eventId: `event-${n}`, attempts: 0, bytes: 10, event: orderEvent(n) }))
}

test.each([
  ['all', [1, 2, 3], { floor: 0n, limit: 3 }, { last: 3n, isFull: false }],
  ['the first ones', [1, 2], { floor: 0n, limit: 2 }, { last: 2n, isFull: true }],
  ['those between others', [2], { floor: 1n, limit: 1 }, { last: 2n, isFull: true }],
  ['the last ones', [2, 3], { floor: 1n, limit: 2 }, { last: 3n, isFull: false }],
  ['the first of two parts', [1, 3], { floor: 0n, limit: 1 }, { last: 1n, isFull: true }],
])(
  'of a page of which %s are wanted, the first wanted ones are claimed, and the next page begins behind them',
  (...given) => {
    const [, wanted, claimed, scanned] = given
    const found = wantedRows(rowsOf(1, 2, 3), query, ({ seq }) => wanted.includes(Number(seq)))
    expect(found).toEqual({ query: { ...query, ...claimed }, scanned })
  },
)

test('a page of which none is wanted is passed over', () => {
  expect(wantedRows(rowsOf(1, 2), query, none)).toEqual({ query: undefined, scanned: { last: 2n, isFull: false } })
  expect(wantedRows(rowsOf(1, 2), { ...query, limit: 2 }, none).scanned?.isFull).toBe(true)
  expect(wantedRows(rowsOf(1, 2), { ...query, maxBytes: 20 }, none).scanned?.isFull).toBe(true)
  expect(wantedRows([], query, none)).toEqual({ query: undefined, scanned: undefined })
})

test('a row that cannot be read is always wanted', () => {
  const rows = rowsOf(1, 2).map((row) => ({ ...row, event: null, problem: new Error('It is no JSON.') }))
  expect(wantedRows(rows as never, query, none).query).toMatchObject({ floor: 0n, limit: 2 })
})
