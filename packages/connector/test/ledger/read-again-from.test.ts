import { expect, test } from 'vitest'
import { readAgainFrom } from '../../src/ledger/read-again-from.ts'

test.each([
  ['goes on further down: nothing is read again', 120n, undefined],
  ['goes on where it was read to', 110n, undefined],
  ['was cut behind what is settled: what is not settled is read again too', 105n, 100n],
  ['was cut at what is settled', 100n, 100n],
  ['was cut before what is settled', 40n, 40n],
])('a log that %s', (_, continuesAt, expected) => {
  expect(readAgainFrom({ watermark: 100n, next: 110n }, continuesAt)).toBe(expected)
})
