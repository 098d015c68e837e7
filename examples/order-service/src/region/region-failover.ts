import type { Runtime } from '@waybill/core'
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
  /** Of several regions the one that holds it is active. */
  readonly lease: RegionLease
  readonly leaseMs: number
  readonly thresholds: RegionThresholds
  readonly checkTimeoutMs: number
  /** A check that takes longer is counted as slow. */
  readonly slowCheckMs: number
  readonly runtime: Runtime
}

/**
 * Watches the dependencies of this region, and makes it passive when they fail for long.
 *
 *   ACTIVE   the checks are good, and the region holds the lease
 *   PASSIVE  three bad rounds in a row, or the lease is with another region, or could not be renewed in time
 */
export class RegionFailover {
  readonly #options: FailoverOptions
  /** Checks that have not answered. A dependency that hangs is not asked again beside it. */
  readonly #pending = new Map<string, Promise<void>>()
  #state: RegionState = initialRegion
  /** The mode of the last round. */
  #told: RegionMode | undefined
  /** Until when this region surely holds the lease. Monotonic: a wall clock that jumps back would prolong it. */
  #heldUntil = 0
  #activeSince: number
  #round: Promise<RegionMode> | undefined

  constructor(options: FailoverOptions) {
    this.#options = options
    this.#activeSince = this.#now()
  }

  get mode(): RegionMode {
    if (!this.#options.isEnabled) return 'ACTIVE'
    return this.#state.mode === 'ACTIVE' && this.#now() < this.#heldUntil ? 'ACTIVE' : 'PASSIVE'
  }

  allowsWrites(): boolean {
    return this.mode === 'ACTIVE'
  }

  /** The time since this region became active; 0 while it is passive. */
  get activeForMs(): number {
    return this.mode === 'ACTIVE' ? this.#now() - this.#activeSince : 0
  }

  /**
   * Checks all dependencies once. Never rejects. A call during a round joins that round: two at once would find each other's
   * questions unanswered, and count that as failures.
   */
  checkNow(): Promise<RegionMode> {
    if (!this.#options.isEnabled) return Promise.resolve('ACTIVE')
    this.#round ??= this.#check().finally(() => void (this.#round = undefined))
    return this.#round
  }

  async #check(): Promise<RegionMode> {
    const { checks, thresholds, region, runtime } = this.#options
    if (this.#told !== undefined) this.#tell() // The lease may have ended since the last round.
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await this.#isHealthy(name, check)] as const),
    )
    this.#state = afterRound(this.#state, Object.fromEntries(results), thresholds)
    if (this.#state.mode === 'ACTIVE') await this.#hold()
    if (this.#state.unhealthyStreak > 0) runtime.metrics.counter('region.health.unhealthy.count', { region }, 1)
    this.#tell()
    return this.mode
  }

  #tell(): void {
    const { region, runtime } = this.#options
    const from = this.#told
    const to = this.mode
    if (from === to) return
    this.#told = to
    if (to === 'ACTIVE') this.#activeSince = this.#now()
    if (from === undefined) return // How the region starts is no failover.
    runtime.metrics.counter('failover.events.count', { region, to }, 1)
    runtime.logger.warn({ region, from, to, failures: this.#state.failures }, 'Region mode changed')
  }

  /** The lease counts from before it was asked for: the answer may have been long on its way. */
  async #hold(): Promise<void> {
    const { lease, leaseMs, region, runtime } = this.#options
    const asked = this.#now()
    try {
      const isHeld = await this.#ask('lease', async () => lease.hold(region, leaseMs))
      if (isHeld) this.#heldUntil = asked + leaseMs
    } catch (err) {
      runtime.logger.warn({ region, err }, 'Region lease not renewed')
    }
  }

  async #isHealthy(name: string, check: DependencyCheck): Promise<boolean> {
    const { slowCheckMs, region, runtime } = this.#options
    const begun = this.#now()
    try {
      await this.#ask(name, check)
      if (this.#now() - begun > slowCheckMs)
        runtime.metrics.counter('region.health.dependency.slow.count', { region, dependency: name }, 1)
      return true
    } catch (err) {
      runtime.metrics.counter('region.health.dependency.failure.count', { region, dependency: name }, 1)
      runtime.logger.warn({ region, dependency: name, err }, 'Region dependency unavailable')
      return false
    }
  }

  /** Rejects once the time limit has passed, and while an earlier question to the same dependency is unanswered. */
  async #ask<T>(name: string, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { checkTimeoutMs, runtime } = this.#options
    if (this.#pending.has(name)) throw new Error(`${name} has not answered the check before.`)
    const late = new AbortController()
    const answer = question(late.signal)
    const answered = (): void => void this.#pending.delete(name)
    this.#pending.set(name, answer.then(answered, answered))
    const expired = Promise.withResolvers<never>()
    using _ = runtime.timers.schedule(checkTimeoutMs, () => {
      const error = new Error(`${name} did not answer within ${checkTimeoutMs} ms.`)
      expired.reject(error)
      late.abort(error)
    })
    return await Promise.race([answer, expired.promise])
  }

  #now(): number {
    return this.#options.runtime.clock.monotonic()
  }
}
