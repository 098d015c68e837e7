import { describe, expect, test } from 'vitest'
import { runSeeds } from '../runner/seed-pool.ts'
import { seedsOf, Tally } from '../runner/tally.ts'
import type { Mutant, Violation } from '../simulation.ts'
import { simulation } from './client-simulation.ts'

const seedCount = 300
const deadlineMs = 180_000

test(
  'three hundred seeds keep every invariant, and those that are run twice do the same twice',
  async () => {
    const tally = new Tally()
    await runSeeds({
      simulation,
      mutant: null,
      workers: 1,
      seeds: seedsOf(1, seedCount),
      report(report) {
        tally.add(report)
        return false
      },
    })
    expect(tally.broken).toEqual([])
    expect(tally).toMatchObject({ seeds: seedCount, repeated: 3, violations: 0 })
    expect(tally.fewestEvents).toBeGreaterThanOrEqual(900)
    // The rest is for long runs, which fail if they miss one.
    expect(tally.missed(simulation.goals).length).toBeLessThan(simulation.goals.length / 5)
  },
  deadlineMs,
)

async function findViolation(mutant: Mutant): Promise<Violation | undefined> {
  let found: Violation | undefined
  await runSeeds({
    simulation,
    mutant,
    workers: 1,
    seeds: [mutant.seed],
    report({ violations }) {
      found = violations[0]
      return true
    },
  })
  return found
}

describe('a planted bug is found by its seed', () => {
  test.each(simulation.mutants)('$name: $breaks', { timeout: deadlineMs }, async (mutant) => {
    expect(await findViolation(mutant)).toBeDefined()
  })

  test('each has a name of its own', () => {
    const names = simulation.mutants.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})
