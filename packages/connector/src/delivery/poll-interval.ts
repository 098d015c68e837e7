import { pollTimeLimitMs, retryBudgetMs } from '@waybill/core/internal'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Slice } from './work.ts'

/** The settings of a binding that bound the time between two polls. */
export type PollSettings = Pick<ResolvedBinding, 'maxPollIntervalMs' | 'pollIntervalSafetyThreshold' | 'failureProfile'>

/** The share of the poll interval that records of one slice may use. */
export class PollInterval {
  readonly #settings: PollSettings
  readonly #telemetry: Pick<BindingTelemetry, 'safetyTriggered'>
  readonly #limitMs: number

  constructor(settings: PollSettings, telemetry: Pick<BindingTelemetry, 'safetyTriggered'>) {
    this.#settings = settings
    this.#telemetry = telemetry
    this.#limitMs = pollTimeLimitMs(settings.maxPollIntervalMs, settings.pollIntervalSafetyThreshold)
  }

  /**
   * Returns true when a slice has used up its share: it is counted, and another interval starts.
   * @param now - monotonic
   */
  restartIfOver(slice: Slice, now: number): boolean {
    if (now - slice.startedAt <= this.#limitMs) return false
    slice.startedAt = now
    this.#telemetry.safetyTriggered()
    return true
  }

  /**
   * Returns the time left for retries of a record.
   * @param now - monotonic
   */
  retryBudgetMs(slice: Slice, now: number): number {
    const { failureProfile, maxPollIntervalMs, pollIntervalSafetyThreshold } = this.#settings
    if (failureProfile === 'BLOCKING_UNLIMITED') return Number.POSITIVE_INFINITY
    this.restartIfOver(slice, now)
    return retryBudgetMs({
      configuredMs: Number.POSITIVE_INFINITY,
      maxPollIntervalMs,
      pollIntervalSafetyThreshold,
      elapsedMs: now - slice.startedAt,
    })
  }
}
