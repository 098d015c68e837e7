/**
 * Stops a service when the process receives a signal. Nothing is installed unless this is called: an application has signal
 * handlers of its own.
 *
 *     first signal ──▶ stop({ deadlineMs }) ──▶ all ended ──────────────▶ stopped: clean ──▶ exit 0
 *                              │                 └─ deadline passed ──▶ stopped: what is left ──▶ exit 1
 *     another signal ──────────┴─▶ stop({ deadlineMs: 0 }): waiting ends, and the work that is left is named
 */

import { ArgumentError } from '../errors.ts'
import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { boolean, durationMs, instance, list, oneOf, optional } from '../option/rule.ts'
import { showValue } from '../option/show-value.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { runtimeRule } from '../runtime/runtime-rule.ts'
import type { Logger } from '../telemetry/logger.ts'
import { StopDeadlineError } from './create-service.ts'
import { LifecycleError } from './lifecycle-error.ts'
import type { Service } from './service.ts'

/** Signals that ask a process to end. */
export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** The part of a process that is used. */
export interface SignalledProcess {
  on(signal: StopSignal, listener: () => void): unknown
  off(signal: StopSignal, listener: () => void): unknown
  exit(code: number): unknown
}

/** Options of {@link stopOnSignals}. */
export interface StopOnSignalsOptions {
  /** @defaultValue SIGTERM and SIGINT */
  readonly signals?: readonly StopSignal[]
  /** How long the first signal lets the service stop. @defaultValue 25,000 */
  readonly deadlineMs?: number
  /** Whether the process ends when the service has stopped: with 0, or with 1 when something was left. @defaultValue true */
  readonly exit?: boolean
  /** @defaultValue the process this runs in */
  readonly process?: SignalledProcess
  /** The logger of the stop. @defaultValue the runtime's */
  readonly logger?: Logger
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

/** How a stop by signal ended. */
export interface SignalStop {
  readonly signal: StopSignal
  /** Everything has ended. */
  readonly isClean: boolean
  /** The work that was still running at the deadline, by name. */
  readonly stillRunning: readonly string[]
  /** The rejection of the stop. */
  readonly error: unknown
}

/** Signals that are listened to. Disposing listens no more, and stops nothing. */
export interface StopOnSignals extends Disposable {
  /** Settles when a signal has stopped the service, before the process ends. Never rejects. */
  readonly stopped: Promise<SignalStop>
}

const signals: readonly StopSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

const rules = {
  signals: list<StopSignal>(oneOf(signals), {
    default: ['SIGTERM', 'SIGINT'],
    because: 'orchestrators send the first, a terminal the second',
  }),
  deadlineMs: durationMs({
    default: 25_000,
    because: 'Kubernetes kills after 30 seconds by default, and the work that is left should be named before',
  }),
  exit: boolean({ default: true, because: 'a process that listens to a signal does not end by it any more' }),
  process: instance<SignalledProcess>('a process', (value) => hasMethods(value, 'on'), {
    default: process,
  }),
  logger: optional(instance<Logger>('a logger', (value) => hasMethods(value, 'info', 'warn', 'error'))),
  runtime: runtimeRule,
}

/** Stops a service, or a supervisor with all its services, when the process receives a signal. */
export function stopOnSignals(service: Service, options: StopOnSignalsOptions = {}): StopOnSignals {
  if (!hasMethods(service, 'stop'))
    throw new ArgumentError(`stopOnSignals takes a service or a supervisor, got ${showValue(service)}.`, {
      hint: 'Write stopOnSignals(app), where app is a connector, an outbox or what createSupervisor returned.',
    })
  const resolved = resolveOptions('stopOnSignals', rules, options)
  const logger = resolved.logger ?? resolved.runtime.logger
  const ended = Promise.withResolvers<SignalStop>()
  let first: StopSignal | undefined

  const take = (signal: StopSignal): void => {
    if (first !== undefined) {
      logger.warn({ signal, first }, 'Second signal received, stopping now')
      // The first stop reports the outcome; this one only moves its deadline forward.
      service.stop({ deadlineMs: 0 }).catch(() => {})
      return
    }
    first = signal
    logger.info({ signal, deadlineMs: resolved.deadlineMs }, 'Signal received, stopping')
    void stop(signal)
  }

  const stop = async (signal: StopSignal): Promise<void> => {
    const end = await endOf(service, signal, resolved.deadlineMs)
    if (end.isClean) logger.info({ signal }, 'Stopped')
    else logger.error({ signal, err: end.error, stillRunning: end.stillRunning }, 'Stop incomplete')
    ended.resolve(end)
    await ended.promise
    if (resolved.exit) resolved.process.exit(end.isClean ? 0 : 1)
  }

  const listeners = resolved.signals.map((signal) => [signal, () => take(signal)] as const)
  for (const [signal, listener] of listeners) resolved.process.on(signal, listener)
  return {
    stopped: ended.promise,
    [Symbol.dispose]() {
      for (const [signal, listener] of listeners) resolved.process.off(signal, listener)
    },
  }
}

async function endOf(service: Service, signal: StopSignal, deadlineMs: number): Promise<SignalStop> {
  try {
    await service.stop({ deadlineMs })
    return { signal, isClean: true, stillRunning: [], error: undefined }
  } catch (error) {
    return { signal, isClean: false, stillRunning: leftBy(error), error }
  }
}

/** Returns the work a stop reports as left; a supervisor's error holds those of its parts. */
function leftBy(error: unknown): readonly string[] {
  if (error instanceof StopDeadlineError) return error.stillRunning
  if (error instanceof LifecycleError) return [...new Set(error.failures.flatMap((failure) => leftBy(failure.error)))]
  return []
}
