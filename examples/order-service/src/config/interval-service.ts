import { createService, type Runtime, type Service } from '@waybill/core'

/** Options of {@link createIntervalService}. */
export interface IntervalServiceOptions {
  readonly name: string
  readonly intervalMs: number
  readonly runtime: Runtime
  /** Must not reject. The signal aborts when the service stops. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
  /** Whether start() runs it once, and waits for that. @defaultValue false: the first run is one interval later */
  readonly isRunAtStart?: boolean
}

/** Creates a service that runs a task at an interval, never twice at a time. */
export function createIntervalService(options: IntervalServiceOptions): Service {
  const { name, intervalMs, runtime, run, isRunAtStart = false } = options
  const stopped = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const repeat = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await runtime.timers.sleep(intervalMs, stopped.signal).catch(() => {}) // Stopped: the loop ends.
      if (!stopped.signal.aborted) await run(stopped.signal)
    }
  }
  return createService({
    name,
    runtime,
    start: async () => {
      if (isRunAtStart) await run(stopped.signal)
      running = repeat()
    },
    stop: async () => {
      stopped.abort()
      await running
    },
  })
}
