/** Adds up what seeds report. */

import type { SeedReport, Violation } from '../simulation.ts'

/** More of them than this say nothing new. */
const mostShown = 20

/** A seed that broke something. */
export interface BrokenSeed {
  readonly seed: number
  readonly violations: readonly Violation[]
}

/** What a run came to so far. */
export class Tally {
  seeds = 0
  /** Seeds that broke something. */
  violations = 0
  /** The first of them. */
  readonly broken: BrokenSeed[] = []
  /** Seeds that were run a second time. */
  repeated = 0
  events = 0
  /** The fewest that a seed had. */
  fewestEvents = Number.POSITIVE_INFINITY
  virtualMs = 0
  /** Time of a processor that all runs took. On a busy machine it says more than real time. */
  cpuMs = 0
  readonly faults = new Map<string, number>()
  readonly rareStates = new Map<string, number>()
  readonly #hashes = new Map<number, string>()

  add(report: SeedReport, cpuMs = 0): void {
    this.cpuMs += cpuMs
    const { seed, violations, events, elapsedMs, traceHash } = report
    const former = this.#hashes.get(seed)
    if (former !== undefined) return this.#compare(seed, former, traceHash)
    this.#hashes.set(seed, traceHash)
    this.seeds++
    this.events += events
    this.fewestEvents = Math.min(this.fewestEvents, events)
    this.virtualMs += elapsedMs
    addAll(this.faults, report.faults)
    addAll(this.rareStates, report.rareStates)
    if (violations.length > 0) this.#breaks({ seed, violations })
  }

  /** Goals that no seed has reached. */
  missed(goals: readonly string[]): string[] {
    return goals.filter((goal) => !this.rareStates.has(goal))
  }

  #compare(seed: number, one: string, other: string): void {
    this.repeated++
    if (one === other) return
    const what = `two runs differ: ${one} and ${other}`
    this.#breaks({ seed, violations: [{ invariant: 'DETERMINISM', what }] })
  }

  #breaks(broken: BrokenSeed): void {
    this.violations++
    if (this.broken.length < mostShown) this.broken.push(broken)
  }
}

function addAll(sums: Map<string, number>, counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
}

/** Seeds of a run, and behind them the one in a hundred that is run again to compare the two histories. */
export function* seedsOf(from: number, count: number): Generator<number, void> {
  for (let index = 0; index < count; index++) yield from + index
  for (let index = 0; index < count; index += 100) yield from + index
}
