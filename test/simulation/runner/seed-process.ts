/** A process that runs seeds of one simulation, with a bug planted or without, and tells what each did. */

import { flushCompileCache } from 'node:module'
import type { Mutant, SeedReport, Simulation } from '../simulation.ts'
import { loadSimulation } from '../simulations.ts'
import { plantMutant } from './plant-mutant.ts'

/** What a process is started with. */
export interface SeedTask {
  /** Address of the module of the simulation. */
  readonly module: string
  readonly mutant: Mutant | null
  /** Tells everything that happens. */
  readonly traces: boolean
}

/** What a process says. */
export type SeedAnswer =
  | { readonly kind: 'READY' }
  | { readonly kind: 'TRACE'; readonly line: string }
  | { readonly kind: 'REPORT'; readonly report: SeedReport; readonly cpuMs: number }
  | { readonly kind: 'FAILED'; readonly reason: string }

const { module, mutant, traces } = JSON.parse(process.argv[2] ?? '{}') as SeedTask

function say(answer: SeedAnswer): void {
  process.send?.(answer)
}

// Faults are answered with errors by the thousand, and nobody reads where they were made. Also in a trace: dead letters
// carry stacks, and those of another length would be another run.
Error.stackTraceLimit = 0

async function runSeed(simulation: Simulation, seed: number): Promise<void> {
  try {
    const usedBefore = process.cpuUsage()
    const report = await simulation.run(seed, traces ? { trace: (line) => say({ kind: 'TRACE', line }) } : {})
    const { user, system } = process.cpuUsage(usedBefore)
    say({ kind: 'REPORT', report, cpuMs: (user + system) / 1_000 })
  } catch (error) {
    say({ kind: 'FAILED', reason: `seed ${seed}: ${String(error)}` })
  }
}

try {
  const missing = mutant === null ? () => undefined : plantMutant(mutant)
  const simulation = await loadSimulation(module)
  const file = missing()
  if (file !== undefined) throw new Error(`The simulation "${simulation.name}" does not load ${file}.`)
  process.on('message', (seed: number) => void runSeed(simulation, seed))
  // It is killed in the end: what it has compiled would be lost for the next one, which loads the same files but for a bug.
  flushCompileCache()
  say({ kind: 'READY' })
} catch (error) {
  say({ kind: 'FAILED', reason: String(error) })
}
