import { ArgumentError, noopLogger, type Runtime } from '@waybill/core'
import { createSeededRandom, noopMetrics, sleepWith } from '@waybill/core/internal'
import { defaultEventLimit, Scheduler } from './scheduler.ts'
import { TraceHash } from './trace-hash.ts'

/**
 * A runtime whose time moves only on request. An hour of time-outs takes milliseconds, and one seed gives one
 * history: events due at the same instant run in an order the seed decides, so that code which relies on one order is
 * found out.
 *
 * Waits for anything but this runtime's timers (a socket, a file, the system clock) are outside of it.
 */
export interface VirtualRuntime extends Runtime {
  /** The seed that decides every draw and every tie. */
  readonly seed: number
  /** Timers that wait. */
  readonly pending: number
  /** Timers that ran. */
  readonly eventCount: number
  /**
   * Stands for everything that happened so far: each timer that ran, each number drawn, each note. Two runs of one
   * seed have the same one, or something in the program did not come from the runtime.
   */
  readonly traceHash: string
  /** Adds something the program did to the trace. */
  note(text: string): void
  /**
   * Moves time forward, running what falls due on the way, each with all its promises settled before the next.
   *
   * @throws SimulationError when a timer throws. Time stays there, and the next call goes on with the next timer.
   */
  advance(ms: number): Promise<void>
  /**
   * Runs a program to its end, moving time as far as it needs, and answers what it answers. It fails instead of hanging
   * when the program waits while no timer is pending, and after `limit` timers.
   *
   * @defaultValue limit 1,000,000
   */
  run<T>(program: () => T | Promise<T>, limit?: number): Promise<T>
  /**
   * Runs timers until none waits. Fails after `limit` of them, because a program that always schedules more would run
   * for ever.
   *
   * @defaultValue limit 1,000,000
   */
  runToIdle(limit?: number): Promise<void>
  /** Sets the wall clock forward, or back if negative, as NTP or an operator does. Timers and durations see nothing. */
  wallJump(ms: number): void
}

/** Options of {@link createVirtualRuntime}: what a test wants to see of logs, metrics and failpoints. */
export type VirtualParts = Partial<Pick<Runtime, 'logger' | 'metrics' | 'failpoint'>>

/** Where virtual time starts: fixed, so that traces compare across runs. 2026-01-01T00:00:00Z. */
const epochMs = Date.UTC(2026, 0, 1)

/** Makes a {@link VirtualRuntime}. */
export function createVirtualRuntime(seed: number, parts: VirtualParts = {}): VirtualRuntime {
  const draw = createSeededRandom(seed)
  const trace = new TraceHash()
  const scheduler = new Scheduler(seed, trace)
  const schedule = (ms: number, run: () => void): Disposable => scheduler.schedule(ms, run)
  let wallOffsetMs = 0
  return {
    seed,
    random() {
      const drawn = draw()
      trace.addNumber(drawn)
      return drawn
    },
    clock: {
      now: () => epochMs + Math.floor(scheduler.elapsedMs + wallOffsetMs),
      monotonic: () => scheduler.elapsedMs,
    },
    timers: { schedule, sleep: (ms, signal) => sleepWith(schedule, ms, signal) },
    logger: parts.logger ?? noopLogger,
    metrics: parts.metrics ?? noopMetrics,
    failpoint: parts.failpoint ?? (() => {}),
    get pending() {
      return scheduler.pending
    },
    get eventCount() {
      return scheduler.eventCount
    },
    get traceHash() {
      return trace.value
    },
    note(text) {
      trace.addText(text)
    },
    async advance(ms) {
      if (!Number.isFinite(ms) || ms < 0) throw new ArgumentError(`Time cannot advance by ${ms} ms.`)
      await scheduler.runTo(scheduler.elapsedMs + ms)
    },
    async run(program, limit = defaultEventLimit) {
      if (typeof program !== 'function')
        throw new ArgumentError('run() takes a function that starts the program.', {
          hint: 'Wrap a promise you already have: run(() => promise).',
        })
      return scheduler.runToEnd(program, limit)
    },
    runToIdle: (limit = defaultEventLimit) => scheduler.runToIdle(limit),
    wallJump(ms) {
      if (!Number.isFinite(ms)) throw new ArgumentError(`The wall clock cannot jump by ${ms} ms.`)
      wallOffsetMs += ms
    },
  }
}
