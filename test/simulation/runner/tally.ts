/** Sums up the reports of seeds. */

import type { SeedReport, Violation } from '../simulation.ts'

/** Maximum number of failed seeds to show. */
const mostShown = 20

/** A seed with a violation. */
export interface BrokenSeed {
  readonly seed: number
  readonly violations: readonly Violation[]
}

/** The result of a run so far. */
export class Tally {
  seeds = 0
  /** Seeds with a violation. */
  violations = 0
  /** The first of them. */
  readonly broken: BrokenSeed[] = []
  /** Seeds that were run a second time. */
  repeated = 0
  events = 0
  /** The smallest number of events in a seed. */
  fewestEvents = Number.POSITIVE_INFINITY
  virtualMs = 0
  /** CPU time of all runs. On a busy machine it is more meaningful than real time. */
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

  /** Returns the goals that no seed has reached. */
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

/** Generates the seeds of a run, followed by one in a hundred of them again to compare the two histories. */
export function* seedsOf(from: number, count: number): Generator<number, void> {
  for (let index = 0; index < count; index++) yield from + index
  for (let index = 0; index < count; index += 100) yield from + index
}
