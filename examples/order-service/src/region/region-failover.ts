import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger, Metrics } from '@waybill/core'
import { afterRound, initialRegion, type RegionMode, type RegionState, type RegionThresholds } from './region-state.ts'

/** Asks a dependency whether it answers. Rejects if it does not. */
export type DependencyCheck = (signal: AbortSignal) => Promise<void>

/** Options of a {@link RegionFailover}. */
export interface FailoverOptions {
  readonly region: string
  readonly checks: Readonly<Record<string, DependencyCheck>>
  /** False: the region always takes writes. */
  readonly isEnabled: boolean
  readonly thresholds: RegionThresholds
  readonly intervalMs: number
  readonly checkTimeoutMs: number
  /** A check that takes longer is counted as slow. */
  readonly slowCheckMs: number
  readonly now: () => number
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Watches the dependencies of this region and makes it passive when they fail for long. */
export class RegionFailover {
  readonly #options: FailoverOptions
  readonly #stopped = new AbortController()
  #state: RegionState = initialRegion
  #running: Promise<void> = Promise.resolve()

  constructor(options: FailoverOptions) {
    this.#options = options
  }

  get mode(): RegionMode {
    return this.#state.mode
  }

  get state(): RegionState {
    return this.#state
  }

  allowsWrites(): boolean {
    return !this.#options.isEnabled || this.#state.mode === 'ACTIVE'
  }

  /** Begins to check. The first round is awaited: a region that starts without its dependencies says so at once. */
  async start(): Promise<void> {
    if (!this.#options.isEnabled) return
    await this.checkNow()
    this.#running = this.#repeat()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  /** Checks all dependencies once. Never rejects. */
  async checkNow(): Promise<RegionMode> {
    const { checks, thresholds, region, logger, metrics } = this.#options
    const names = Object.keys(checks)
    const results = await Promise.all(names.map(async (name) => [name, await this.#isHealthy(name)] as const))
    const before = this.#state.mode
    this.#state = afterRound(this.#state, Object.fromEntries(results), thresholds)
    if (this.#state.unhealthyStreak > 0) metrics.counter('region.health.unhealthy.count', { region }, 1)
    if (this.#state.mode !== before) {
      metrics.counter('failover.events.count', { region, to: this.#state.mode }, 1)
      logger.warn({ region, from: before, to: this.#state.mode, failures: this.#state.failures }, 'Region mode changed')
    }
    return this.#state.mode
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      await sleep(this.#options.intervalMs, undefined, { signal }).catch(() => {}) // Stopped: the loop ends.
      if (!signal.aborted) await this.checkNow()
    }
  }

  async #isHealthy(name: string): Promise<boolean> {
    const { checks, checkTimeoutMs, slowCheckMs, region, now, metrics, logger } = this.#options
    const begun = now()
    const timeout = AbortSignal.timeout(checkTimeoutMs)
    try {
      await Promise.race([checks[name]?.(timeout), rejectionOf(timeout)])
      if (now() - begun > slowCheckMs) metrics.counter('region.health.dependency.slow.count', { region, name }, 1)
      return true
    } catch (err) {
      metrics.counter('region.health.dependency.failure.count', { region, name }, 1)
      logger.warn({ region, dependency: name, err }, 'Dependency does not answer')
      return false
    }
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
