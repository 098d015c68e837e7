import { describe, expect, test } from 'vitest'
import { runSeeds } from '../runner/seed-pool.ts'
import { seedsOf, Tally } from '../runner/tally.ts'
import type { Mutant, Violation } from '../simulation.ts'
import { simulation } from './connector-simulation.ts'

const seedCount = 200
const deadlineMs = 240_000

test(
  'two hundred seeds keep every invariant, and those that are run twice do the same twice',
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
    expect(tally).toMatchObject({ seeds: seedCount, repeated: 2, violations: 0 })
    expect(tally.fewestEvents).toBeGreaterThanOrEqual(900)
    // The rest is for long runs, which fail if they miss one.
    expect(tally.missed(simulation.goals).length).toBeLessThan(simulation.goals.length / 5)
  },
  deadlineMs,
)

/** A change of timing anywhere moves what a seed does: where it shows the bug no more, one of the next does. */
const seedsTried = 25

async function findViolation(mutant: Mutant): Promise<Violation | undefined> {
  let found: Violation | undefined
  await runSeeds({
    simulation,
    mutant,
    workers: 1,
    seeds: Array.from({ length: seedsTried }, (_, index) => mutant.seed + index),
    report({ violations }) {
      found = violations[0]
      return found !== undefined
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
