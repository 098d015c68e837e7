import { RecordHeaders } from '@waybill/core'
import { type HeaderPair } from '@waybill/core/internal'
import { HeaderWriter } from '@waybill/kafka/internal'
import { describe, expect, test } from 'vitest'
import type { TierFailureRecord } from '../../src/api/dead-letter-types.ts'
import { readTierHistory, withTier, writeTierHistory } from '../../src/records/tier-history.ts'

const tier = (number: number, attempts = 3) => ({
  tier: number,
  exceptionClass: `Error${number}`,
  exhaustedAt: 1_000 * number,
  attempts,
})

function headersOf(history: readonly TierFailureRecord[]): HeaderPair[] {
  const writer = new HeaderWriter()
  writer.begin()
  writeTierHistory(writer, history)
  return [...writer.end()]
}

describe('the history of tiers', () => {
  test('is read as it was written, in the order of the tiers', () => {
    const history = [tier(0), tier(1, 9), tier(12, 0)]
    expect(readTierHistory(headersOf(history))).toEqual(history)
    expect(readTierHistory(headersOf(history).toReversed())).toEqual(history)
  })

  test('of a writer that left something out has what there is', () => {
    expect(readTierHistory(RecordHeaders.from([['x-eventbus-tier2-exhausted-at', '5']]))).toEqual([
      { tier: 2, exceptionClass: '', exhaustedAt: 5, attempts: 0 },
    ])
  })

  test('of several headers of a name has the last, also when that is null', () => {
    const twice = [
      ['x-eventbus-tier2-exception', 'First'],
      ['x-eventbus-tier2-attempts', '4'],
      ['x-eventbus-tier2-exception', 'Last'],
      ['x-eventbus-tier2-attempts', null],
    ] as const
    expect(readTierHistory(RecordHeaders.from(twice))).toEqual([
      { tier: 2, exceptionClass: 'Last', exhaustedAt: 0, attempts: 0 },
    ])
  })

  test.each(['rising', 'falling'])('of 50,000 forged tiers in %s order is that of the lowest', (order) => {
    const forged = Array.from({ length: 50_000 }, (_, number) => [`x-eventbus-tier${number}-attempts`, '1'] as const)
    const headers = RecordHeaders.from(order === 'rising' ? forged : forged.toReversed())
    expect(readTierHistory(headers).map((entry) => entry.tier)).toEqual([...Array(32).keys()])
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
    expect(readTierHistory(headersOf(many))).toHaveLength(32)
    expect(withTier(many, { tier: 100, exceptionClass: 'E', exhaustedAt: 1 }, 1)).toHaveLength(32)
  })
})
