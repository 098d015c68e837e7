import { type Runtime, systemRuntime } from '@waybill/core'
import { runtimeRule, type SharedLog } from '@waybill/core/internal'
import { durationMs, hasMethods, instance, optional, type Report, resolveOptions, text } from '@waybill/core/option'

/** Options of {@link createFleetControl}. */
export interface FleetControlOptions {
  /** The log that all instances share: `createTopicLog` of @waybill/kafka, or `createSharedLog` of @waybill/sql. */
  readonly log: SharedLog
  /** The version of your service, as statuses show it. @defaultValue none */
  readonly version?: string | undefined
  /**
   * How long a command waits for answers. STOP and DESTROY wait for their deadline and this time. @defaultValue 10000
   */
  readonly answerMs?: number | undefined
  /** How long a position command waits until all instances have left the groups. @defaultValue 30000 */
  readonly awayMs?: number | undefined
  /** Time between two statuses of an instance. @defaultValue 5000 */
  readonly announceMs?: number | undefined
  /** Time without a status after which an instance is not asked any more. @defaultValue 15000 */
  readonly aliveMs?: number | undefined
  /** Time for which commands, answers and the states of dead instances stay in the log. @defaultValue 600000 */
  readonly keepMs?: number | undefined
  /** Longest time of one read of the log. @defaultValue 500 */
  readonly pollMs?: number | undefined
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime | undefined
}

/** {@link FleetControlOptions} with defaults. */
export interface FleetSettings {
  readonly log: SharedLog
  readonly version: string | undefined
  readonly answerMs: number
  readonly awayMs: number
  readonly announceMs: number
  readonly aliveMs: number
  readonly keepMs: number
  readonly pollMs: number
  readonly runtime: Runtime
}

const rules = {
  log: instance<SharedLog>('a SharedLog, made by createTopicLog or createSharedLog', (value) =>
    hasMethods(value, 'append', 'read'),
  ),
  version: optional(text()),
  answerMs: durationMs({ default: 10_000, min: 1, because: 'an instance that works answers within a second' }),
  awayMs: durationMs({ default: 30_000, min: 1, because: 'handlers end within their shutdown timeout' }),
  announceMs: durationMs({ default: 5_000, min: 1, because: 'a dead instance is noticed after three of them' }),
  aliveMs: durationMs({ default: 15_000, min: 1, because: 'three statuses are missing then' }),
  keepMs: durationMs({
    default: 600_000,
    min: 1,
    because: 'an instance that lost the log for less follows each command',
  }),
  pollMs: durationMs({ default: 500, min: 1, because: 'a stop waits for it' }),
  runtime: runtimeRule,
}

/** Validates and applies defaults. @throws OptionsError */
export function resolveFleetOptions(given: FleetControlOptions): FleetSettings {
  const { runtime, ...settings } = resolveOptions('fleet control', rules, given, checkTimes)
  return { ...settings, runtime: runtime ?? systemRuntime }
}

function checkTimes(
  { announceMs, aliveMs }: { readonly announceMs: number; readonly aliveMs: number },
  report: Report,
): void {
  if (aliveMs < 2 * announceMs) report('aliveMs', `must be at least twice announceMs, ${announceMs}`)
}
