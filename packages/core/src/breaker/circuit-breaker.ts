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
 * Who moves it: outcomes of calls and one timer; nobody from outside. The timer is what ends OPEN, since a paused
 * binding makes no calls that could. stop() cancels it and freezes the state. Nothing here survives the process: a new
 * one starts CLOSED.
 *
 * Permits belong to the era (the stay in one state) that gave them. A result that comes after its era says nothing about
 * the present one and is dropped: a call from before the breaker opened is not a probe. Every permit ends exactly once,
 * with an outcome or returned without one, so that probes cannot leak away.
 *
 * Rates are computed as Resilience4j does: a threshold is reached at equality, a call is slow above slowCallDurationMs,
 * and successes are judged like failures.
 */

import { type Runtime, systemRuntime } from '../runtime.ts'
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
  /** Whether the breaker would let this call go on now: asked before each further attempt. */
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
  /** What logs, engine events and errors call it: the binding's name. */
  readonly name: string
  readonly state: CircuitState
  /** The rates of the calls counted in this state; while OPEN those that opened it. */
  readonly rates: CallRates
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
 * @throws OptionsError when the options are wrong.
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
  #isStopped = false

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

  get rates(): CallRates {
    return this.#window.rates
  }

  tryAcquire(): CircuitPermit | undefined {
    if (this.#freePermits === 0) return undefined
    this.#freePermits--
    const era = this.#era
    let isEnded = false
    const end = (settle: () => void): void => {
      if (isEnded) return
      isEnded = true
      if (era === this.#era && !this.#isStopped) settle()
    }
    const isCurrent = (): boolean => era === this.#era || this.#state === 'CLOSED'
    const release = (): void => end(() => this.#takeBack())
    return {
      get isValid() {
        return !isEnded && isCurrent()
      },
      succeed: (durationMs) => end(() => this.#count(false, durationMs)),
      fail: (durationMs) => end(() => this.#count(true, durationMs)),
      release,
      [Symbol.dispose]: release,
    }
  }

  subscribe(run: (event: CircuitEvent) => void): Disposable {
    return this.#events.subscribe(run)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.stop()
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
    if (this.rates.calls < (isProbing ? permittedNumberOfCallsInHalfOpenState : minimumNumberOfCalls)) return
    const reason = reachedThreshold(this.rates, this.#options)
    if (reason !== undefined) this.#move('OPEN', reason)
    else if (isProbing) this.#move('CLOSED', 'PROBES_SUCCEEDED')
  }

  #move(to: CircuitState, reason: CircuitChangeReason): void {
    const change: CircuitEvent = { type: 'STATE_CHANGED', from: this.#state, to, reason, ...this.rates }
    this.#state = to
    this.#era++
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

function reachedThreshold(
  rates: CallRates,
  options: ResolvedCircuitBreakerOptions,
): 'FAILURE_RATE' | 'SLOW_CALL_RATE' | undefined {
  if (rates.failureRate >= options.failureRateThreshold) return 'FAILURE_RATE'
  if (rates.slowCallRate >= options.slowCallRateThreshold) return 'SLOW_CALL_RATE'
  return undefined
}
