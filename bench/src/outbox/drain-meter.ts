import { readFileSync } from 'node:fs'

/** The cost of a number of events. */
export interface DrainResult {
  readonly perSecond: number
  /** CPU of the server's sessions of this process. */
  readonly databaseMicros: number
  /** CPU of this process. */
  readonly nodeMicros: number
}

/** Reads the nanoseconds that a process has run from the kernel's scheduler: /proc/PID/stat has hundredths of a second. */
type CpuNanos = () => number

function nanosOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ', 1)[0])
}

/** Adds up the CPU time of local processes. */
export function cpuNanosOf(pids: readonly number[]): CpuNanos {
  return () => pids.reduce((sum, pid) => sum + nanosOf(pid), 0)
}

/**
 * Times the events after the first `warm`, which are slower because code is compiled and sessions plan their statements.
 */
export class DrainMeter {
  readonly #warmed = Promise.withResolvers<void>()
  readonly #finished = Promise.withResolvers<DrainResult>()
  readonly #warm: number
  readonly #count: number
  readonly #databaseNanos: CpuNanos
  #done = 0
  #startedAt: number | undefined
  #countedFrom = 0
  #cpu = process.cpuUsage()
  #nanos = 0

  constructor(warm: number, count: number, databaseNanos: CpuNanos) {
    this.#warm = warm
    this.#count = count
    this.#databaseNanos = databaseNanos
  }

  /** Resolves when the first events are settled. */
  get warmed(): Promise<void> {
    return this.#warmed.promise
  }

  get finished(): Promise<DrainResult> {
    return this.#finished.promise
  }

  /** Counts settled events. */
  readonly done = (events: number): void => {
    this.#done += events
    if (this.#startedAt === undefined && this.#done >= this.#warm) this.begin()
    else if (this.#done >= this.#warm + this.#count) this.#finished.resolve(this.#result())
  }

  /** Starts counting: automatically after the first events, again by callers that prepare more then. */
  begin(): void {
    this.#warmed.resolve()
    this.#countedFrom = this.#done
    this.#cpu = process.cpuUsage()
    this.#nanos = this.#databaseNanos()
    this.#startedAt = performance.now()
  }

  #result(): DrainResult {
    const events = this.#done - this.#countedFrom
    const seconds = (performance.now() - (this.#startedAt as number)) / 1_000
    const { user, system } = process.cpuUsage(this.#cpu)
    return {
      perSecond: events / seconds,
      databaseMicros: (this.#databaseNanos() - this.#nanos) / 1_000 / events,
      nodeMicros: (user + system) / events,
    }
  }
}
