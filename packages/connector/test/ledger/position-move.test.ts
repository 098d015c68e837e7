import { expect, test } from 'vitest'
import { decodeCommitMetadata, encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt } from '../../src/ledger/ledger.ts'
import { decodeMove, encodeMove, type PositionMove } from '../../src/ledger/position-move.ts'

const move: PositionMove = { times: 2, atMs: 1_790_000_000_000, from: 7n, to: 4n, by: 'alice@example.com' }

test('a move is written and read', () => {
  expect(encodeMove(move)).toBe('2,1790000000000,7,4,alice@example.com')
  expect(decodeMove(encodeMove(move))).toEqual(move)
  expect(decodeMove(encodeMove({ ...move, from: null }))).toEqual({ ...move, from: null })
})

test('any operator name is encoded without separators and within the limit', () => {
  const widest = { times: 1e9, atMs: 9_999_999_999_999, from: 2n ** 63n - 1n, to: 2n ** 63n - 1n }
  const text = encodeMove({ ...widest, by: 'Ärger = mit Leerzeichen, '.repeat(9) })
  expect(text).toMatch(/^[^ =]+$/)
  expect(text.length).toBeLessThanOrEqual(102)
  expect(decodeMove(text)).toMatchObject({ times: 9_999, to: widest.to })
})

test('text that is not a move is ignored, and the commit stays readable', () => {
  expect(decodeMove('x')).toBeUndefined()
  const metadata = `${encodeCommitMetadata(ledgerStateAt(4n))} j=of-a-later-version`
  expect(decodeCommitMetadata({ offset: 4n, metadata })).toEqual({ source: ledgerStateAt(4n) })
})

test('D22 a ledger that continues from a moved state includes the move in every later commit', () => {
  const metadata = encodeCommitMetadata({ ...ledgerStateAt(4n), moved: move })
  const read = decodeCommitMetadata({ offset: 4n, metadata })
  if ('problem' in read) throw new Error(read.problem)
  const ledger = new Ledger(read.source)
  ledger.fetched(4n)
  ledger.settle(4n, 'OK')
  expect(ledger.state()).toMatchObject({ position: 5n, moved: move })
  expect(encodeCommitMetadata(ledger.state())).toContain(` j=${encodeMove(move)}`)
})
