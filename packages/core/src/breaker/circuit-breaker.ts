/**
 * Stops calls to something that keeps failing, and finds out by itself when it works again.
 *
 *              a rate reached its threshold          timer, after
 *              (judged by each outcome from          waitDurationInOpenStateMs
 *              minimumNumberOfCalls on)
 *     CLOSED ────────────────────────────▶ OPEN ────────────────────────────▶ HALF_OPEN
 *        ▲                                   ▲                                 │     │
 *        │                                   └──── a rate reached its threshold┘     │
 *        └──────────────────────── both rates below their thresholds ────────────────┘
 *                                  (judged once, by the last outcome of the permitted calls)
 *
 * Only outcomes of calls and timers change the state. A timer ends OPEN, since a paused binding makes no calls, and a timer
 * ends each probe that hangs, as a failure; otherwise HALF_OPEN could last forever.
 * stop() cancels them and freezes the state. Nothing here survives the process: a new one starts CLOSED.
 *
 * Permits belong to the era (the stay in one state) that gave them. A result that comes after its era says nothing about
 * the present one and is dropped: a call from before the breaker opened is not a probe. Every permit ends exactly once,
 * with an outcome or returned without one, so that probes cannot leak away.
 *
 * Rates are computed as Resilience4j does: a threshold is reached at equality, a call is slow above slowCallDurationMs,
 * and successes are judged like failures.
 */

import { type Runtime, systemRuntime } from '../runtime/runtime.ts'
import {
  type CircuitBreakerOptions,
  type ResolvedCircuitBreakerOptions,
  resolveCircuitBreakerOptions,
} from './circuit-breaker-options.ts'
import {
  type CircuitChangeReason,
  type CircuitEvent,
  CircuitEventDelivery,
  type CircuitState,
} from './circuit-event.ts'
import { type CallRates, OutcomeWindow } from './outcome-window.ts'

/**
 * The right to make one call, and the duty to say how it ended. The first of `succeed`, `fail` and `release` counts,
 * the others then do nothing; disposing is `release`.
 */
export interface CircuitPermit extends Disposable {
  /**
   * Whether the breaker would let this call go on now: asked before each further attempt. A probe that was counted as
   * failed because it took too long may go on once the breaker is CLOSED.
   */
  readonly isValid: boolean
  /** The call succeeded after `durationMs`, waits between attempts not included. */
  succeed(durationMs: number): void
  /** The call failed after `durationMs`, waits between attempts not included. */
  fail(durationMs: number): void
  /** The call says nothing about what the breaker protects: it was cancelled, or the record itself is bad. */
  release(): void
}

/** A circuit breaker. Make one with {@link createCircuitBreaker}; disposing is `stop`. */
export interface CircuitBreaker extends Disposable {
  /** The name in logs, engine events and errors: the binding's name. */
  readonly name: string
  readonly state: CircuitState
  /** The rates of the calls counted in this state; while OPEN those that opened it. */
  readonly rates: CallRates
  /** True while {@link CircuitBreaker.tryAcquire} would answer undefined. */
  readonly isRefusing: boolean
  /** A permit for one call, or undefined when none is allowed now. */
  tryAcquire(): CircuitPermit | undefined
  /** Calls `run` with every event, in the order they come about, until the subscription is disposed. */
  subscribe(run: (event: CircuitEvent) => void): Disposable
  /** Cancels the timer and freezes the state. Doing so again does nothing. */
  stop(): void
}

type BreakerRuntime = Pick<Runtime, 'timers' | 'logger'>

/**
 * Makes a {@link CircuitBreaker}, CLOSED. Its changes of state also go out as the engine event `breaker:state-changed`.
 * @throws OptionsError with every violation.
 */
export function createCircuitBreaker(
  name: string,
  options: CircuitBreakerOptions = {},
  runtime: BreakerRuntime = systemRuntime,
): CircuitBreaker {
  return new CountingCircuitBreaker(name, resolveCircuitBreakerOptions(options), runtime)
}

class CountingCircuitBreaker implements CircuitBreaker {
  readonly name: string
  readonly #options: ResolvedCircuitBreakerOptions
  readonly #timers: Runtime['timers']
  readonly #events: CircuitEventDelivery
  #state: CircuitState = 'CLOSED'
  #era = 0
  #freePermits = Number.POSITIVE_INFINITY
  #window: OutcomeWindow
  #timer: Disposable | undefined
  readonly #probeTimers = new Set<Disposable>()
  #isStopped = false
  readonly #issuer: PermitIssuer = {
    isClosed: () => this.#state === 'CLOSED',
    isCurrent: (era) => era === this.#era,
    isStopped: () => this.#isStopped,
    watchProbe: (overdue) => this.#watchProbe(overdue),
    count: (isFailed, durationMs) => this.#count(isFailed, durationMs),
    takeBack: () => this.#takeBack(),
  }

  constructor(name: string, options: ResolvedCircuitBreakerOptions, runtime: BreakerRuntime) {
    this.name = name
    this.#options = options
    this.#timers = runtime.timers
    this.#events = new CircuitEventDelivery(name, runtime.logger)
    this.#window = new OutcomeWindow(options.slidingWindowSize)
  }

  get state(): CircuitState {
    return this.#state
  }

  get isRefusing(): boolean {
    return this.#freePermits === 0
  }

  get rates(): CallRates {
    return this.#window.rates
  }

  tryAcquire(): CircuitPermit | undefined {
    if (this.#freePermits === 0) return undefined
    this.#freePermits--
    return new CountedPermit(this.#issuer, this.#era)
  }

  subscribe(run: (event: CircuitEvent) => void): Disposable {
    return this.#events.subscribe(run)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.[Symbol.dispose]()
    this.#endProbeTimers()
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  /** Watches probes only: a hanging call in CLOSED occupies no permit. */
  #watchProbe(overdue: (afterMs: number) => void): Disposable | undefined {
    if (this.#state !== 'HALF_OPEN' || this.#isStopped) return undefined
    const { probeTimeoutMs, slowCallDurationMs } = this.#options
    const afterMs = Math.max(probeTimeoutMs, slowCallDurationMs)
    const timer = this.#timers.schedule(afterMs, () => {
      this.#probeTimers.delete(watch)
      overdue(afterMs)
    })
    const watch: Disposable = {
      [Symbol.dispose]: () => {
        this.#probeTimers.delete(watch)
        timer[Symbol.dispose]()
      },
    }
    this.#probeTimers.add(watch)
    return watch
  }

  #endProbeTimers(): void {
    for (const timer of this.#probeTimers) timer[Symbol.dispose]()
  }

  #takeBack(): void {
    if (this.#state !== 'HALF_OPEN') return
    this.#freePermits++
    this.#events.publish({ type: 'PERMIT_RETURNED' })
  }

  #count(isFailed: boolean, durationMs: number): void {
    const { enabled, slowCallDurationMs, minimumNumberOfCalls, permittedNumberOfCallsInHalfOpenState } = this.#options
    if (!enabled) return
    this.#window.record(isFailed, durationMs > slowCallDurationMs)
    const isProbing = this.#state === 'HALF_OPEN'
    const { rates } = this.#window
    if (rates.calls < (isProbing ? permittedNumberOfCallsInHalfOpenState : minimumNumberOfCalls)) return
    const reason = reachedThreshold(rates, this.#options)
    if (reason !== undefined) this.#move('OPEN', reason)
    else if (isProbing) this.#move('CLOSED', 'PROBES_SUCCEEDED')
  }

  #move(to: CircuitState, reason: CircuitChangeReason): void {
    const change: CircuitEvent = { type: 'STATE_CHANGED', from: this.#state, to, reason, ...this.rates }
    this.#state = to
    this.#era++
    this.#endProbeTimers()
    switch (to) {
      case 'CLOSED':
        this.#freePermits = Number.POSITIVE_INFINITY
        this.#window = new OutcomeWindow(this.#options.slidingWindowSize)
        break
      case 'OPEN':
        this.#freePermits = 0
        this.#timer = this.#timers.schedule(this.#options.waitDurationInOpenStateMs, () =>
          this.#move('HALF_OPEN', 'WAIT_ELAPSED'),
        )
        break
      case 'HALF_OPEN':
        this.#freePermits = this.#options.permittedNumberOfCallsInHalfOpenState
        this.#window = new OutcomeWindow(this.#options.permittedNumberOfCallsInHalfOpenState)
        break
    }
    this.#events.publish(change)
  }
}

/** The part of the breaker that a permit uses. */
interface PermitIssuer {
  isClosed(): boolean
  isCurrent(era: number): boolean
  isStopped(): boolean
  watchProbe(overdue: (afterMs: number) => void): Disposable | undefined
  count(isFailed: boolean, durationMs: number): void
  takeBack(): void
}

/** A class and not an object of functions: every record takes a permit. */
class CountedPermit implements CircuitPermit {
  readonly #issuer: PermitIssuer
  readonly #era: number
  readonly #timeout: Disposable | undefined
  #isEnded = false
  #isOverdue = false

  constructor(issuer: PermitIssuer, era: number) {
    this.#issuer = issuer
    this.#era = era
    this.#timeout = issuer.isClosed() ? undefined : issuer.watchProbe((afterMs) => this.#overdue(afterMs))
  }

  get isValid(): boolean {
    if (this.#isEnded && !this.#isOverdue) return false
    return this.#issuer.isClosed() || (this.#issuer.isCurrent(this.#era) && !this.#isOverdue)
  }

  succeed(durationMs: number): void {
    if (this.#end()) this.#issuer.count(false, durationMs)
  }

  fail(durationMs: number): void {
    if (this.#end()) this.#issuer.count(true, durationMs)
  }

  release(): void {
    if (this.#end()) this.#issuer.takeBack()
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #overdue(afterMs: number): void {
    this.#isOverdue = !this.#isEnded
    if (this.#end()) this.#issuer.count(true, afterMs)
  }

  /** True for the first end, while what it says is about the present. */
  #end(): boolean {
    if (this.#isEnded) return false
    this.#isEnded = true
    this.#timeout?.[Symbol.dispose]()
    return this.#issuer.isCurrent(this.#era) && !this.#issuer.isStopped()
  }
}

function reachedThreshold(
  rates: CallRates,
  options: ResolvedCircuitBreakerOptions,
): 'FAILURE_RATE' | 'SLOW_CALL_RATE' | undefined {
  if (rates.failureRate >= options.failureRateThreshold) return 'FAILURE_RATE'
  if (rates.slowCallRate >= options.slowCallRateThreshold) return 'SLOW_CALL_RATE'
  return undefined
}
