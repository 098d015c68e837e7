/** A process that runs seeds of one simulation, with or without a planted bug, and reports each result. */

import { flushCompileCache } from 'node:module'
import type { Mutant, SeedReport, Simulation } from '../simulation.ts'
import { loadSimulation } from '../simulations.ts'
import { plantMutant } from './plant-mutant.ts'

/** The task of a process. */
export interface SeedTask {
  /** Address of the simulation's module. */
  readonly module: string
  readonly mutant: Mutant | null
  /** Sends the trace. */
  readonly traces: boolean
  /** Milliseconds of real time between two signs of life. */
  readonly beatMs: number
}

/** The messages of a process. */
export type SeedAnswer =
  | { readonly kind: 'READY' }
  | { readonly kind: 'TRACE'; readonly line: string }
  | { readonly kind: 'BEAT' }
  | { readonly kind: 'REPORT'; readonly report: SeedReport; readonly cpuMs: number }
  | { readonly kind: 'FAILED'; readonly reason: string }

const { module, mutant, traces, beatMs } = JSON.parse(process.argv[2] ?? '{}') as SeedTask

function say(answer: SeedAnswer): void {
  process.send?.(answer)
}

// Injected faults create errors by the thousand, and their stacks are never read. This holds for a trace too: dead
// letters contain stacks, and those of another length would be another run.
Error.stackTraceLimit = 0

async function runSeed(simulation: Simulation, seed: number): Promise<void> {
  const beat = setInterval(() => say({ kind: 'BEAT' }), beatMs)
  try {
    const usedBefore = process.cpuUsage()
    const report = await simulation.run(seed, traces ? { trace: (line) => say({ kind: 'TRACE', line }) } : {})
    const { user, system } = process.cpuUsage(usedBefore)
    say({ kind: 'REPORT', report, cpuMs: (user + system) / 1_000 })
  } catch (error) {
    say({ kind: 'FAILED', reason: `seed ${seed}: ${String(error)}` })
  } finally {
    clearInterval(beat)
  }
}

try {
  const missing = mutant === null ? () => undefined : plantMutant(mutant)
  const simulation = await loadSimulation(module)
  const file = missing()
  if (file !== undefined) throw new Error(`The simulation "${simulation.name}" does not load ${file}.`)
  process.on('message', (seed: number) => void runSeed(simulation, seed))
  // The process is killed at the end: its compiled code would be lost for the next one, which loads almost the same
  // files.
  flushCompileCache()
  say({ kind: 'READY' })
} catch (error) {
  say({ kind: 'FAILED', reason: String(error) })
}
