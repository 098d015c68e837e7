/** Tests of a simulation: seeds without a bug keep every invariant, and each planted bug is found by its recorded seed. */

import { afterAll, describe, expect, test } from 'vitest'
import { PlantedBugs } from '../runner/planted-bugs.ts'
import { runSeeds } from '../runner/seed-pool.ts'
import { seedsOf, Tally } from '../runner/tally.ts'
import type { Simulation } from '../simulation.ts'
import { recordedNames } from './recorded-seeds.ts'

/** Size of a suite. */
export interface SuiteOptions {
  readonly seeds: number
  readonly deadlineMs: number
}

/** Declares the seeds and every planted bug of a simulation. */
export function describeSimulation(simulation: Simulation, options: SuiteOptions): void {
  describeSeeds(simulation, options)
  describePlantedBugs(simulation, options)
}

/** Declares a test that runs the first seeds of a simulation. */
export function describeSeeds(simulation: Simulation, { seeds, deadlineMs }: SuiteOptions): void {
  test(
    `${seeds} seeds keep every invariant, and those that are run twice do the same twice`,
    async () => {
      const tally = new Tally()
      await runSeeds({
        simulation,
        mutant: null,
        workers: 1,
        seeds: seedsOf(1, seeds),
        report(report) {
          tally.add(report)
          return false
        },
      })
      expect(tally.broken).toEqual([])
      expect(tally).toMatchObject({ seeds, repeated: Math.ceil(seeds / 100), violations: 0 })
      expect(tally.fewestEvents).toBeGreaterThanOrEqual(900)
      // Few seeds cannot reach every rare state. `npm run sim` fails if a long run misses one.
      if (seeds >= leastSeedsForGoals)
        expect(tally.missed(simulation.goals).length).toBeLessThan(simulation.goals.length / 5)
    },
    deadlineMs,
  )
}

/** Below this number of seeds, which rare states a run reaches is chance. */
const leastSeedsForGoals = 100

function describePlantedBugs(simulation: Simulation, { deadlineMs }: Pick<SuiteOptions, 'deadlineMs'>): void {
  describe('a planted bug is found by its recorded seed', () => {
    const bugs = new PlantedBugs(simulation)
    afterAll(() => bugs[Symbol.asyncDispose]())

    test.each(simulation.mutants)('$name: $breaks', { timeout: deadlineMs }, async (mutant) => {
      const next = `npm run sim -- ${simulation.name} --record finds another one`
      expect(await bugs.find(mutant), `seed ${mutant.seed} does not find it; ${next}`).toBeDefined()
    })

    test('each has a name of its own, and no seed is recorded for one that is gone', () => {
      const names = simulation.mutants.map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      const recorded = simulation.seedFile === null ? [] : recordedNames(simulation.seedFile)
      expect(recorded.filter((name) => !names.includes(name))).toEqual([])
    })
  })
}
