/** Searches seeds for each planted bug until one finds it. */

import type { Mutant, Simulation, Violation } from '../simulation.ts'
import { runSeeds } from './seed-pool.ts'

/** The result of searching for a planted bug. */
export interface MutantResult {
  readonly mutant: Mutant
  /** Null when no seed found it. */
  readonly found: { readonly seed: number; readonly violation: Violation } | null
  readonly seeds: number
}

/** The range of a search. */
export interface SearchOptions {
  readonly simulation: Simulation
  readonly from: number
  readonly seeds: number
  readonly workers: number
  readonly progress: (text: string) => void
}

/** Searches for all bugs, one after another. */
export async function searchMutants(options: SearchOptions): Promise<MutantResult[]> {
  const { simulation, progress } = options
  const results: MutantResult[] = []
  for (const mutant of simulation.mutants) {
    const result = await searchMutant(options, mutant)
    results.push(result)
    progress(`${simulation.name}: ${describeResult(result)}`)
  }
  return results
}

async function searchMutant(
  { simulation, from, seeds, workers }: SearchOptions,
  mutant: Mutant,
): Promise<MutantResult> {
  let tried = 0
  let found: MutantResult['found'] = null
  await runSeeds({
    simulation,
    mutant,
    workers,
    seeds: Array.from({ length: seeds }, (_, index) => from + index),
    report({ seed, violations: [violation] }) {
      tried++
      if (violation !== undefined) found = { seed, violation }
      return violation !== undefined
    },
  })
  return { mutant, found, seeds: tried }
}

/** Describes the result in one line. */
export function describeResult({ mutant, found, seeds }: MutantResult): string {
  if (found === null) return `planted "${mutant.name}": NOT FOUND in ${seeds} seeds`
  const { invariant, what } = found.violation
  return `planted "${mutant.name}": found by seed ${found.seed} after ${seeds} (${invariant}: ${what})`
}
