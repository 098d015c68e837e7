import { readFileSync } from 'node:fs'

/** What a number of events took. */
export interface DrainResult {
  readonly perSecond: number
  /** CPU of the server's sessions that worked for this process. */
  readonly databaseMicros: number
  /** CPU of this process. */
  readonly nodeMicros: number
}

/** Nanoseconds that a process has run, by the kernel's own account: /proc/PID/stat counts hundredths of a second. */
type CpuNanos = () => number

function nanosOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ', 1)[0])
}

/** Adds up what processes of this machine have run. */
export function cpuNanosOf(pids: readonly number[]): CpuNanos {
  return () => pids.reduce((sum, pid) => sum + nanosOf(pid), 0)
}

/**
 * Times the events between the first `warm` and the last: the first ones are slower, because code is compiled and sessions
 * plan their statements, and that is not what is compared.
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

  /** The first events are settled. */
  get warmed(): Promise<void> {
    return this.#warmed.promise
  }

  get finished(): Promise<DrainResult> {
    return this.#finished.promise
  }

  /** So many more events are settled. */
  readonly done = (events: number): void => {
    this.#done += events
    if (this.#startedAt === undefined && this.#done >= this.#warm) this.begin()
    else if (this.#done >= this.#warm + this.#count) this.#finished.resolve(this.#result())
  }

  /** From here on it counts: by itself after the first events, again for whoever has more to prepare then. */
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
