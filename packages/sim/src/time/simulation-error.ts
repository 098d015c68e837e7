import { type ErrorContext, WaybillError } from '@waybill/core'

/** A simulated run that went wrong: its program never rests, waits for ever, or a timer of it threw. */
export class SimulationError extends WaybillError {
  static override readonly code = 'WAYBILL_SIMULATION_FAILED'
  /** Runs the same history again. */
  readonly seed: number
  /** Milliseconds of virtual time since the start. */
  readonly elapsedMs: number

  constructor(what: string, { seed, elapsedMs, ...context }: ErrorContext & { seed: number; elapsedMs: number }) {
    super(`${what} (seed ${seed}, after ${elapsedMs} virtual ms)`, context)
    this.seed = seed
    this.elapsedMs = elapsedMs
  }
}
