/**
 * Reads and writes the seed that finds each planted bug, kept in a separate file: `npm run sim -- NAME --record` writes
 * it.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import type { Mutant } from '../simulation.ts'

/** A bug to plant, without the seed that finds it. */
export type PlantedBug = Omit<Mutant, 'seed'>

/** Adds the recorded seed to every bug. A bug without one gets 0, which is expected to find nothing. */
export function withRecordedSeeds(bugs: readonly PlantedBug[], file: string): Mutant[] {
  const seeds = new Map(Object.entries(readSeeds(file)))
  return bugs.map((bug) => ({ ...bug, seed: seeds.get(bug.name) ?? 0 }))
}

/** Returns the bugs that have a recorded seed. */
export function recordedNames(file: string): readonly string[] {
  return Object.keys(readSeeds(file))
}

/** Records the seeds of these mutants, in their order. */
export function recordSeeds(mutants: readonly Pick<Mutant, 'name' | 'seed'>[], file: string): void {
  const seeds = Object.fromEntries(mutants.map(({ name, seed }) => [name, seed]))
  writeFileSync(file, `${JSON.stringify(seeds, null, 2)}\n`)
}

function readSeeds(file: string): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(file, 'utf8'))
}
