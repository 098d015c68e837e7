import { durationMs, func, mapOf, nested, number, oneOf, type Report, type Rule } from '../option/rule.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { runtimeRule } from '../runtime/runtime-rule.ts'
import type { BackpressureLevel, PressureThresholds } from './pressure-level.ts'

/** One input of a backpressure signal. */
export interface BackpressureInput extends PressureThresholds {
  /** Returns the current value: the higher, the more pressure. Never called again before it has answered. */
  readonly read: () => number | Promise<number>
}

/** Options of {@link createBackpressure}. */
export interface BackpressureOptions {
  /** The inputs by name, as metrics and logs show them. The highest level of all counts. */
  readonly inputs: Readonly<Record<string, BackpressureInput>>
  /**
   * How freely work may flow at each level, from 1 toward 0.
   * @defaultValue NORMAL 1, ELEVATED 0.7, CRITICAL 0.35
   */
  readonly factors?: Readonly<Partial<Record<BackpressureLevel, number>>> | undefined
  /** The time between two readings, and the limit of one. @defaultValue 5000 */
  readonly intervalMs?: number | undefined
  /**
   * The share of a threshold by which a value must fall below it before the level falls.
   * @defaultValue 0.2
   */
  readonly hysteresis?: number | undefined
  /**
   * The level of an input that fails or does not answer in time, unless its last one was higher.
   * @defaultValue `ELEVATED`
   */
  readonly whenUnreadable?: BackpressureLevel | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** {@link BackpressureOptions} with defaults applied. */
export interface ResolvedBackpressureOptions {
  readonly inputs: Readonly<Record<string, BackpressureInput>>
  readonly factors: Readonly<Record<BackpressureLevel, number>>
  readonly intervalMs: number
  readonly hysteresis: number
  readonly whenUnreadable: BackpressureLevel
  readonly runtime: Runtime
}

const factor = (value: number): Rule<number> =>
  number({ default: value, above: 0, max: 1, because: 'retries slow down before writes are rejected' })

/** The rules of {@link BackpressureOptions}. */
export const backpressureRules: {
  readonly [K in keyof ResolvedBackpressureOptions]: Rule<ResolvedBackpressureOptions[K]>
} = {
  inputs: mapOf(
    nested({
      read: func<() => number | Promise<number>>(),
      elevated: number({ above: 0 }),
      critical: number({ above: 0 }),
    }),
  ),
  factors: nested({ NORMAL: factor(1), ELEVATED: factor(0.7), CRITICAL: factor(0.35) }),
  intervalMs: durationMs({ default: 5_000, min: 1, because: 'soon enough for queues that fill within minutes' }),
  hysteresis: number({ default: 0.2, min: 0, max: 0.9, because: 'wider than the noise of queue lengths' }),
  whenUnreadable: oneOf(['NORMAL', 'ELEVATED', 'CRITICAL'], {
    default: 'ELEVATED',
    because:
      'an input that cannot be read often is the one under pressure, and rejecting all writes for it is too much',
  }),
  runtime: runtimeRule,
}

/** Checks thresholds and factors against each other. */
export function checkBackpressureOptions(
  { inputs, factors }: Pick<ResolvedBackpressureOptions, 'inputs' | 'factors'>,
  report: Report,
): void {
  for (const [name, { elevated, critical }] of Object.entries(inputs))
    if (critical < elevated) report(`inputs.${name}.critical`, `must not be below elevated, ${elevated}`)
  if (factors.ELEVATED > factors.NORMAL) report('factors.ELEVATED', `must not be above NORMAL, ${factors.NORMAL}`)
  if (factors.CRITICAL > factors.ELEVATED) report('factors.CRITICAL', `must not be above ELEVATED, ${factors.ELEVATED}`)
}
