/** Formats the result of a run. */

import type { Simulation } from '../simulation.ts'
import { describeResult, type MutantResult } from './mutant-search.ts'
import type { Tally } from './tally.ts'

/** A run of this many seeds must have reached every goal. */
const longRun = 5_000

/** The result of a run. */
export interface RunResult {
  readonly simulation: Pick<Simulation, 'name' | 'goals'>
  readonly tally: Tally
  readonly cores: number
  /** Real time of all seeds. */
  readonly tookMs: number
  /** Null when they were not requested. */
  readonly mutants: readonly MutantResult[] | null
}

/**
 * Returns the exit code. 3: an invariant is violated. 4: the run proves too little: a planted bug was not found, or a
 * state not reached.
 */
export function exitCodeOf({ tally, mutants, simulation }: RunResult): 0 | 3 | 4 {
  if (tally.violations > 0) return 3
  const isBlind = mutants?.some(({ found }) => found === null) ?? false
  const isShallow = tally.seeds >= longRun && tally.missed(simulation.goals).length > 0
  return isBlind || isShallow ? 4 : 0
}

function perMinute({ tally }: RunResult, ms: number): number {
  return Math.round(((tally.seeds + tally.repeated) * 60_000) / ms)
}

/** Formats the result as one line of JSON. */
export function toJsonLine(result: RunResult): string {
  const { simulation, tally, cores, tookMs, mutants } = result
  return JSON.stringify({
    sim: simulation.name,
    seeds: tally.seeds,
    violations: tally.violations,
    seedsPerMinute: perMinute(result, tookMs * cores),
    seedsPerCpuMinute: perMinute(result, tally.cpuMs),
    cores,
    mutants:
      mutants === null
        ? null
        : { planted: mutants.length, found: mutants.filter(({ found }) => found !== null).length },
    rareStates: Object.fromEntries(simulation.goals.map((goal) => [goal, tally.rareStates.get(goal) ?? 0])),
    repeated: tally.repeated,
    fewestEvents: tally.fewestEvents,
    faults: Object.fromEntries(tally.faults),
    broken: tally.broken.map(({ seed, violations }) => ({
      seed,
      violations,
      replay: replayCommand(simulation.name, seed),
    })),
    missedMutants: mutants?.flatMap(({ mutant, found }) => (found === null ? [mutant.name] : [])) ?? [],
  })
}

/** Formats the result as text. */
export function describeRun(result: RunResult): string {
  const { simulation, tally, cores, tookMs, mutants } = result
  const { seeds, violations, repeated, events, fewestEvents, virtualMs } = tally
  const lines = [
    `${simulation.name}: ${seeds} seeds, ${violations} with a violation; ${repeated} were run twice`,
    `${perMinute(result, tookMs * cores)} seeds/min on each of ${cores} processes, ${perMinute(result, tally.cpuMs)} in a minute of processor time`,
    `${Math.round(events / seeds)} events and ${Math.round(virtualMs / seeds / 1_000)} virtual seconds a seed, at least ${fewestEvents} events`,
    ...section('Faults', countsOf([...tally.faults])),
    ...section(
      'Rare states',
      countsOf(
        simulation.goals.flatMap((goal): [string, number][] =>
          tally.rareStates.has(goal) ? [[goal, tally.rareStates.get(goal) ?? 0]] : [],
        ),
      ),
    ),
    ...section('Never reached', tally.missed(simulation.goals)),
    ...section('Planted bugs', mutants === null ? [] : [summaryOf(mutants), ...mutants.map(describeResult)]),
    ...section(
      'Violations',
      tally.broken.flatMap((broken) => describeBroken(simulation.name, broken)),
    ),
  ]
  return `${lines.join('\n')}\n`
}

function describeBroken(name: string, { seed, violations }: Tally['broken'][number]): string[] {
  const [first] = violations
  return [`seed ${seed}: ${first?.invariant}: ${first?.what}`, `  ${replayCommand(name, seed)}`]
}

function summaryOf(mutants: readonly MutantResult[]): string {
  return `${mutants.filter(({ found }) => found !== null).length} of ${mutants.length} found`
}

function countsOf(counts: readonly (readonly [name: string, count: number])[]): string[] {
  return counts.map(([name, count]) => `${String(count).padStart(9)}  ${name}`)
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
}

/** Returns the command that traces a seed. */
export function replayCommand(name: string, seed: number): string {
  return `npm run sim -- ${name} --trace ${seed}`
}
