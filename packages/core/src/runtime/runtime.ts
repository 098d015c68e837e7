import { ArgumentError } from '../errors.ts'
import { hasMethods } from '../option/has-methods.ts'
import { showValue } from '../option/show-value.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Metrics, noopMetrics } from '../telemetry/metrics.ts'
import { createStandardErrorLogger } from '../telemetry/standard-error-logger.ts'
import type { Tracer } from '../telemetry/tracer.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Random, systemRandom } from './random.ts'
import { systemTimers, type Timers } from './timers.ts'

/**
 * The services an engine may not take from the process: time, randomness, and the sinks of logs and metrics. Handing
 * these in is what lets a simulation run the production code for a virtual week in a second.
 */
export interface Runtime {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  /** Makes spans. @defaultValue none */
  readonly tracer?: Tracer | undefined
  /** Named places where a test may stop, delay or kill the process. Does nothing outside tests. */
  readonly failpoint: (name: string) => void | Promise<void>
}

/**
 * The system clock and randomness. Warnings and errors go to standard error without being asked for. A
 * logger of your own, or `noopLogger`, goes in by `runtimeWith`. Metrics and failpoints go nowhere.
 */
export const systemRuntime: Runtime = Object.freeze({
  clock: systemClock,
  timers: systemTimers,
  random: systemRandom,
  logger: createStandardErrorLogger(),
  metrics: noopMetrics,
  failpoint: () => {},
})

/**
 * Returns the system's runtime with some parts replaced: `runtimeWith({ logger })`.
 *
 * @throws {@link ArgumentError} for a part that lacks a method.
 */
export function runtimeWith(parts: Partial<Runtime>): Runtime {
  for (const [part, methods] of Object.entries(methodsOf)) requireMethods(part, methods, parts?.[part as keyof Runtime])
  return Object.freeze({ ...systemRuntime, ...parts })
}

const methodsOf = {
  clock: ['now', 'monotonic'],
  timers: ['sleep', 'schedule'],
  logger: ['debug', 'info', 'warn', 'error', 'child'],
  metrics: ['counter', 'gauge', 'histogram'],
  tracer: ['create', 'send', 'process', 'failed'],
} satisfies Partial<Record<keyof Runtime, readonly string[]>>

function requireMethods(part: string, methods: readonly string[], given: unknown): void {
  const missing = given === undefined ? [] : methods.filter((method) => !hasMethods(given, method))
  if (missing.length === 0) return
  throw new ArgumentError(`runtimeWith: ${part} has no ${missing.join(', ')}, got ${showValue(given)}.`, {
    hint:
      part === 'logger'
        ? 'A pino logger has them; createTextLogger makes a logger of a function that writes a line.'
        : `Pass a ${part} with ${methods.join(', ')}.`,
  })
}
