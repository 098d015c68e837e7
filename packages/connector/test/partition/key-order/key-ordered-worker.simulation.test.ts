import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { type RunResult, simulateWaiting } from './waiting-run.ts'

watchRejections()

const seeds = Array.from({ length: 40 }, (_, index) => index + 1)

describe('orderingMode KEY under kills, zombies, lost answers and operators', () => {
  const results: RunResult[] = []

  test.each(seeds)('seed %i keeps every key in its order, loses nothing and balances at every commit', async (seed) => {
    const result = await simulateWaiting(seed)
    expect({ seed, broken: result.broken }).toEqual({ seed, broken: [] })
    results.push(result)
  })

  test('these runs reach the states that they are for', () => {
    const sum = (count: (result: RunResult) => number): number => results.reduce((total, one) => total + count(one), 0)
    expect(results).toHaveLength(seeds.length)
    for (const name of ['kills', 'zombies', 'replays', 'releases', 'held', 'markers'] as const)
      expect({ name, isRare: sum((result) => result[name]) <= 5 }).toEqual({ name, isRare: false })
    // More than one for each assignment: some are for appends of unknown fate.
    expect(sum(({ fences }) => fences)).toBeGreaterThan(seeds.length)
  })
})
