/** Runs the parsed command. */

import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { Simulation } from '../simulation.ts'
import { type Command, UsageError } from './command-line.ts'
import { searchMutants } from './mutant-search.ts'
import { describeRun, exitCodeOf, type RunResult, replayCommand, toJsonLine } from './report.ts'
import { runSeeds } from './seed-pool.ts'
import { seedsOf, Tally } from './tally.ts'

const progressEveryMs = 5_000

/** The output of a command. */
export interface Output {
  /** The result. */
  readonly result: (text: string) => void
  /** Progress messages. */
  readonly progress: (line: string) => void
}

/** Runs seeds, and planted bugs if requested. Returns the exit code. */
export async function runSimulation(simulation: Simulation, command: Command, output: Output): Promise<number> {
  const cores = command.workers ?? availableParallelism()
  const startedAt = performance.now()
  const tally = await tallySeeds(simulation, command, cores, output)
  const tookMs = performance.now() - startedAt
  const { from, seeds } = command
  const mutants = command.searchesMutants
    ? await searchMutants({ simulation, from, seeds, workers: cores, progress: output.progress })
    : null
  const result: RunResult = { simulation, tally, cores, tookMs, mutants }
  output.result(command.isJson ? `${toJsonLine(result)}\n` : describeRun(result))
  return exitCodeOf(result)
}

/** Traces one seed. Returns the exit code. */
export async function traceSeed(simulation: Simulation, command: Command, output: Output): Promise<number> {
  const { mutants } = simulation
  const mutant = command.mutant === null ? null : mutants.find((one) => one.name === command.mutant)
  if (mutant === undefined)
    throw new UsageError(`"${command.mutant}" is none of: ${mutants.map((one) => one.name).join(', ')}.`)
  let exitCode = 0
  await runSeeds({
    simulation,
    mutant,
    workers: 1,
    seeds: [command.trace ?? 0],
    trace: (line) => output.result(`${line}\n`),
    report({ seed, violations, events, traceHash }) {
      if (violations.length > 0) exitCode = 3
      const found = violations.map(({ invariant, what }) => `${invariant}: ${what}`)
      output.result([`seed ${seed}: ${events} events, trace ${traceHash}`, ...found, ''].join('\n'))
      return true
    },
  })
  return exitCode
}

async function tallySeeds(
  simulation: Simulation,
  { from, seeds }: Command,
  workers: number,
  { progress }: Output,
): Promise<Tally> {
  const { name } = simulation
  const tally = new Tally()
  let shownAt = performance.now()
  await runSeeds({
    simulation,
    mutant: null,
    workers,
    seeds: seedsOf(from, seeds),
    report(report, cpuMs) {
      const former = tally.violations
      tally.add(report, cpuMs)
      if (tally.violations > former)
        progress(`${name}: VIOLATION ${describeViolation(tally)}: ${replayCommand(name, report.seed)}`)
      if (performance.now() - shownAt >= progressEveryMs) {
        shownAt = performance.now()
        progress(`${name}: ${tally.seeds} of ${seeds} seeds, ${tally.violations} with a violation`)
      }
      return false
    },
  })
  return tally
}

function describeViolation({ broken }: Tally): string {
  const last = broken.at(-1)
  const violation = last?.violations[0]
  return `${violation?.invariant} in seed ${last?.seed}`
}
