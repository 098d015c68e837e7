/**
 * Distributes seeds over processes, and collects their reports. Processes and not threads: a planted bug may crash its
 * process, and V8 aborts at times when threads that have loaded WebAssembly start and end.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Mutant, SeedReport, Simulation } from '../simulation.ts'
import type { SeedAnswer, SeedTask } from './seed-process.ts'

/**
 * How long a process may do nothing but compute. A seed that makes progress turns its event loop all the time, and ends at its
 * limit of events: one with an outage of hours takes seconds, and a minute on a busy machine.
 */
export const defaultStuckMs = 60_000
/** Signs of life of a process within that time. */
const beatsPerLimit = 4

/** Options of a pool. */
export interface PoolOptions {
  readonly simulation: Pick<Simulation, 'module'>
  readonly mutant: Mutant | null
  /** Number of concurrent processes. */
  readonly workers: number
  /** In this order. */
  readonly seeds: Iterable<number>
  /** Returning true ends the run. `cpuMs` is the CPU time of the seed. */
  readonly report: (report: SeedReport, cpuMs: number) => boolean
  /** Receives the trace. */
  readonly trace?: (line: string) => void
  /** Time after which a seed counts as stuck if its process has not turned its event loop. */
  readonly stuckMs?: number
}

/** Hands out seeds to the processes of a pool, and receives their reports. */
interface Desk {
  takeSeed(): number | undefined
  report(report: SeedReport, cpuMs: number): void
}

/** Runs all seeds, or those up to where `report` ends the run. Rejects when the simulation cannot be loaded. */
export async function runSeeds(options: PoolOptions): Promise<void> {
  const seeds = options.seeds[Symbol.iterator]()
  let isOver = false
  const desk: Desk = {
    takeSeed() {
      const next = isOver ? undefined : seeds.next()
      return next === undefined || next.done === true ? undefined : next.value
    },
    report(report, cpuMs) {
      if (!isOver && options.report(report, cpuMs)) isOver = true
    },
  }
  await Promise.all(Array.from({ length: options.workers }, () => runProcesses(options, desk)))
}

/** Runs one process after another: a new one replaces one that a seed has ruined. */
async function runProcesses(options: PoolOptions, desk: Desk): Promise<void> {
  while ((await runProcess(options, desk)) === 'RUINED');
}

async function runProcess(options: PoolOptions, desk: Desk): Promise<'DONE' | 'RUINED'> {
  const { simulation, mutant, trace, stuckMs = defaultStuckMs } = options
  const beatMs = stuckMs / beatsPerLimit
  const task: SeedTask = { module: simulation.module, mutant, traces: trace !== undefined, beatMs }
  const child = startProcess('seed-process.ts', JSON.stringify(task))
  const { promise, resolve, reject } = Promise.withResolvers<'DONE' | 'RUINED'>()
  let seed: number | undefined
  let watch: NodeJS.Timeout | undefined
  let said = ''
  const ruin = (invariant: string, what: string): void => {
    if (seed === undefined) return reject(new Error(what))
    desk.report(ruinReport(seed, invariant, what), 0)
    seed = undefined
    resolve('RUINED')
  }
  const wait = (): void => {
    clearTimeout(watch)
    watch = setTimeout(() => ruin('STUCK', `no sign of life within ${stuckMs} ms of real time`), stuckMs)
  }
  const runNext = (): void => {
    seed = desk.takeSeed()
    if (seed === undefined) return resolve('DONE')
    wait()
    child.send(seed, () => {}) // If the send fails the process has ended, which the listener below reports.
  }
  child.on('message', (answer: SeedAnswer) => {
    if (answer.kind === 'TRACE') return trace?.(answer.line)
    if (answer.kind === 'BEAT') return seed === undefined ? undefined : wait()
    clearTimeout(watch)
    if (answer.kind === 'FAILED') return reject(new Error(answer.reason))
    if (answer.kind === 'REPORT') desk.report(answer.report, answer.cpuMs)
    runNext()
  })
  child.stderr?.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-2_000)))
  child.on('error', reject)
  // An unhandled rejection ends a process.
  child.on('close', (code, signal) => ruin('CRASH', `the process ended (${signal ?? code}): ${said.trim()}`))
  try {
    return await promise
  } finally {
    clearTimeout(watch)
    await endProcess(child)
  }
}

const compileCache = join(import.meta.dirname, '../../../node_modules/.cache/simulation')

/** Starts one of the scripts beside this file, which receive their tasks as messages. */
export function startProcess(script: string, argument: string): ChildProcess {
  return fork(join(import.meta.dirname, script), [argument], {
    // Objects of a seed are short-lived: a larger young generation halves the time of garbage collection.
    execArgv: ['--conditions=@waybill/source', '--max-semi-space-size=32'],
    // Loading takes longer than the one seed that finds a planted bug. The cache identifies a file by its text.
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    serialization: 'advanced', // Reports contain maps.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
}

/** Ends a process, unless it has ended. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function ruinReport(seed: number, invariant: string, what: string): SeedReport {
  return {
    seed,
    violations: [{ invariant, what }],
    traceHash: '',
    events: 0,
    elapsedMs: 0,
    faults: new Map(),
    rareStates: new Map(),
  }
}
