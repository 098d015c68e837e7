import { RecordHeaders } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { readTierHistory, tierHistoryHeaders, withTier } from '../../../src/connector/record/tier-history.ts'

const tier = (number: number, attempts = 3) => ({
  tier: number,
  exceptionClass: `Error${number}`,
  exhaustedAt: 1_000 * number,
  attempts,
})

describe('the history of tiers', () => {
  test('is read as it was written, in the order of the tiers', () => {
    const history = [tier(0), tier(1, 9), tier(12, 0)]
    expect(readTierHistory(RecordHeaders.from(tierHistoryHeaders(history)))).toEqual(history)
    expect(readTierHistory(RecordHeaders.from([...tierHistoryHeaders(history)].toReversed()))).toEqual(history)
  })

  test('of a writer that left something out has what there is', () => {
    expect(readTierHistory(RecordHeaders.from([['x-eventbus-tier2-exhausted-at', '5']]))).toEqual([
      { tier: 2, exceptionClass: '', exhaustedAt: 5, attempts: 0 },
    ])
  })

  test('gives a tier the calls that no tier before had', () => {
    const { exceptionClass, exhaustedAt } = tier(2)
    expect(withTier([tier(0, 3), tier(1, 9)], { tier: 2, exceptionClass, exhaustedAt }, 20).at(-1)?.attempts).toBe(8)
    expect(withTier([tier(0, 99)], { tier: 2, exceptionClass, exhaustedAt }, 20).at(-1)?.attempts).toBe(0)
  })

  test('tells of a tier once, though it was exhausted twice', () => {
    const again = { tier: 1, exceptionClass: 'Other', exhaustedAt: 7 }
    expect(withTier([tier(0, 3), tier(1, 4)], again, 10)).toEqual([tier(0, 3), { ...again, attempts: 7 }])
  })

  test('has at most 32 tiers', () => {
    const many = Array.from({ length: 100 }, (_, number) => tier(number))
    expect(readTierHistory(RecordHeaders.from(tierHistoryHeaders(many)))).toHaveLength(32)
    expect(withTier(many, { tier: 100, exceptionClass: 'E', exhaustedAt: 1 }, 1)).toHaveLength(32)
  })
})
