import { describeThrown, WaybillError } from '../errors.ts'

/** One of the things that failed, and what was being done: "stop of pool". */
export interface LifecycleFailure {
  readonly during: string
  readonly error: unknown
}

/**
 * Several things failed, or one of several parts: every failure is kept, the first is also the cause. A stop goes on
 * past a part that fails, so one error has to carry them all.
 */
export class LifecycleError extends WaybillError {
  static override readonly code = 'WAYBILL_LIFECYCLE_FAILED'
  /** In the order in which they happened. */
  readonly failures: readonly LifecycleFailure[]

  constructor(service: string, failures: readonly LifecycleFailure[]) {
    const lines = failures.map(({ during, error }) => `\n  ${during}: ${describeThrown(error)}`)
    super(`${service} failed:${lines.join('')}`, {
      cause: failures[0]?.error,
      impact: '\nWhatever else was open has been released.',
      hint: 'What failed may still hold connections: end the process.',
    })
    this.failures = Object.freeze([...failures])
  }
}
