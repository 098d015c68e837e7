/** Finds and records a seed for each planted bug, so that `npm run check` needs one run to find the bug. */

import { availableParallelism } from 'node:os'
import type { Mutant, Simulation, Violation } from '../simulation.ts'
import { recordSeeds } from '../world/recorded-seeds.ts'
import { type Command, UsageError } from './command-line.ts'
import type { Output } from './run-command.ts'
import { runSeeds } from './seed-pool.ts'

/** Searches for all bugs, several at once. Returns the exit code: 4 when no seed finds one of them. */
export async function recordMutants(simulation: Simulation, command: Command, output: Output): Promise<number> {
  const { seedFile } = simulation
  if (seedFile === null) throw new UsageError(`The seeds of "${simulation.name}" are not recorded.`)
  const found = new Map<string, number>()
  const queue = [...simulation.mutants]
  const work = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const result = await findSeed(simulation, mutant, command)
      if (result !== undefined) found.set(mutant.name, result.seed)
      output.progress(`${simulation.name}: ${describeSeed(mutant, result)}`)
    }
  }
  await Promise.all(Array.from({ length: command.workers ?? availableParallelism() }, work))
  const recorded = simulation.mutants.filter(({ name }) => found.has(name))
  recordSeeds(
    recorded.map(({ name }) => ({ name, seed: found.get(name) ?? 0 })),
    seedFile,
  )
  const missed = simulation.mutants.filter(({ name }) => !found.has(name)).map(({ name }) => name)
  output.result(
    `${simulation.name}: ${recorded.length} of ${simulation.mutants.length} seeds recorded${missed.length === 0 ? '' : `; not found: ${missed.join(', ')}`}\n`,
  )
  return missed.length === 0 ? 0 : 4
}

/** A seed, and the violation it shows with the bug. */
interface FoundSeed {
  readonly seed: number
  readonly violation: Violation
}

/** Tries the recorded seed first: as long as it finds the bug nothing needs to change. */
async function findSeed(
  simulation: Simulation,
  mutant: Mutant,
  { from, seeds }: Command,
): Promise<FoundSeed | undefined> {
  const end = from + seeds
  const candidates = [...(mutant.seed > 0 ? [mutant.seed] : []), ...Array.from({ length: seeds }, (_, at) => from + at)]
  for (let left = candidates; left.length > 0; ) {
    const found = await firstViolation(simulation, mutant, left)
    if (found === undefined) return undefined
    // A seed that fails without the bug shows nothing about it.
    if ((await firstViolation(simulation, null, [found.seed])) === undefined) return found
    left = left.slice(left.indexOf(found.seed) + 1).filter((seed) => seed !== found.seed && seed < end)
  }
  return undefined
}

async function firstViolation(
  simulation: Simulation,
  mutant: Mutant | null,
  seeds: readonly number[],
): Promise<FoundSeed | undefined> {
  let found: FoundSeed | undefined
  await runSeeds({
    simulation,
    mutant,
    workers: 1,
    seeds,
    report({ seed, violations: [violation] }) {
      if (violation !== undefined) found = { seed, violation }
      return found !== undefined
    },
  })
  return found
}

function describeSeed({ name, seed: before }: Mutant, found: FoundSeed | undefined): string {
  if (found === undefined) return `planted "${name}": NOT FOUND`
  const { invariant, what } = found.violation
  const change = found.seed === before ? 'still' : 'now'
  return `planted "${name}": ${change} by seed ${found.seed} (${invariant}: ${what})`
}
