import { engineChannel } from '../telemetry/channel.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { CallRates } from './outcome-window.ts'

/** CLOSED lets all calls through, OPEN none, HALF_OPEN a few that probe. */
export type CircuitState = 'CLOSED' | 'OPEN' | 'HALF_OPEN'

/** Why a breaker changed its state. */
export type CircuitChangeReason = 'FAILURE_RATE' | 'SLOW_CALL_RATE' | 'WAIT_ELAPSED' | 'PROBES_SUCCEEDED'

/**
 * An event of a breaker: a change of state with the rates known at that moment, or the notice that
 * one of the probes in HALF_OPEN may be taken again, so that a call which was turned away can try now.
 */
export type CircuitEvent =
  | ({
      readonly type: 'STATE_CHANGED'
      readonly from: CircuitState
      readonly to: CircuitState
      readonly reason: CircuitChangeReason
    } & CallRates)
  | { readonly type: 'PERMIT_RETURNED' }

const stateChanged = engineChannel('breaker:state-changed')

/**
 * Brings a breaker's events to its subscribers, one event at a time. A subscriber may use the breaker and so cause the
 * next event: that one waits until this has reached everybody, or some would see HALF_OPEN after the OPEN that followed
 * it, and resume what is to be paused.
 */
export class CircuitEventDelivery {
  readonly #breaker: string
  readonly #logger: Logger
  readonly #subscriptions = new Set<{ readonly run: (event: CircuitEvent) => void }>()
  readonly #waiting: CircuitEvent[] = []
  #isDelivering = false

  constructor(breaker: string, logger: Logger) {
    this.#breaker = breaker
    this.#logger = logger
  }

  subscribe(run: (event: CircuitEvent) => void): Disposable {
    const subscription = { run } // The same function may subscribe twice, and each ends on its own.
    this.#subscriptions.add(subscription)
    return { [Symbol.dispose]: () => void this.#subscriptions.delete(subscription) }
  }

  publish(event: CircuitEvent): void {
    this.#waiting.push(event)
    if (this.#isDelivering) return
    this.#isDelivering = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#deliver(next)
    } finally {
      this.#isDelivering = false
    }
  }

  #deliver(event: CircuitEvent): void {
    if (event.type === 'STATE_CHANGED') stateChanged.publish({ breaker: this.#breaker, from: event.from, to: event.to })
    const present = [...this.#subscriptions]
    for (const subscription of present) {
      if (!this.#subscriptions.has(subscription)) continue
      // The state has changed whatever a subscriber makes of it, and the others still must hear of it.
      const report = (error: unknown): void =>
        this.#logger.error({ err: error, breaker: this.#breaker, event }, 'Circuit breaker subscriber failed')
      try {
        // An async function is assignable to one that returns nothing, and its rejection would end the process.
        const returned: unknown = subscription.run(event)
        if (returned instanceof Promise) returned.catch(report)
      } catch (error) {
        report(error)
      }
    }
  }
}
