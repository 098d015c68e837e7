import { expect, test } from 'vitest'
import { isGapless } from '../../src/ledger/is-gapless.ts'

test.for([
  ['none', [], false],
  ['one', [7n], true],
  ['three in a row', [7n, 8n, 9n], true],
  ['two around a hole', [7n, 9n], false],
  ['two above 2^53', [2n ** 62n, 2n ** 62n + 1n], true],
] as const)('whether records follow each other without a hole: %s', ([, offsets, expected]) => {
  expect(isGapless(offsets.map((offset) => ({ offset })))).toBe(expected)
})
