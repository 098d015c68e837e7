import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger, Metrics } from '@waybill/core'
import type { RegionLease } from './region-lease.ts'
import { afterRound, initialRegion, type RegionMode, type RegionState, type RegionThresholds } from './region-state.ts'

/** Asks a dependency whether it answers. Rejects if it does not. */
export type DependencyCheck = (signal: AbortSignal) => Promise<void>

/** Options of a {@link RegionFailover}. */
export interface FailoverOptions {
  readonly region: string
  readonly checks: Readonly<Record<string, DependencyCheck>>
  /** False: the region always takes writes. */
  readonly isEnabled: boolean
  /** Of several regions the one that holds it is active. Null: there is one region. */
  readonly lease: RegionLease | null
  readonly leaseMs: number
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
  #told: RegionMode = 'ACTIVE'
  /** Until when this region surely holds the lease. */
  #heldUntil = 0
  #running: Promise<void> = Promise.resolve()

  constructor(options: FailoverOptions) {
    this.#options = options
  }

  /** ACTIVE: healthy, and where there are several regions, the one that holds the lease. */
  get mode(): RegionMode {
    const { isEnabled, lease, now } = this.#options
    if (!isEnabled) return 'ACTIVE'
    if (this.#state.mode === 'PASSIVE') return 'PASSIVE'
    return lease === null || now() < this.#heldUntil ? 'ACTIVE' : 'PASSIVE'
  }

  allowsWrites(): boolean {
    return this.mode === 'ACTIVE'
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
    await this.#giveUp()
  }

  /** Checks all dependencies once. Never rejects. */
  async checkNow(): Promise<RegionMode> {
    const { checks, thresholds, region, logger, metrics } = this.#options
    const names = Object.keys(checks)
    const results = await Promise.all(names.map(async (name) => [name, await this.#isHealthy(name)] as const))
    const before = this.#told
    this.#state = afterRound(this.#state, Object.fromEntries(results), thresholds)
    if (this.#state.mode === 'ACTIVE') await this.#hold()
    else await this.#giveUp()
    this.#told = this.mode
    if (this.#state.unhealthyStreak > 0) metrics.counter('region.health.unhealthy.count', { region }, 1)
    if (this.#told !== before) {
      metrics.counter('failover.events.count', { region, to: this.#told }, 1)
      logger.warn({ region, from: before, to: this.#told, failures: this.#state.failures }, 'Region mode changed')
    }
    return this.#told
  }

  /** The lease counts from before it was asked for: the answer may have been long on its way. */
  async #hold(): Promise<void> {
    const { lease, leaseMs, region, now, logger } = this.#options
    const asked = now()
    try {
      if (await lease?.hold(region, leaseMs)) this.#heldUntil = asked + leaseMs
    } catch (err) {
      logger.warn({ region, err }, 'Lease of the region not renewed, it ends by itself')
    }
  }

  async #giveUp(): Promise<void> {
    const { lease, region, now, logger } = this.#options
    if (now() >= this.#heldUntil) return
    this.#heldUntil = 0
    await lease?.release(region).catch((err: unknown) => {
      logger.warn({ region, err }, 'Lease of the region not released, it ends by itself')
    })
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
