import { type Runtime } from '@waybill/core'
import { runtimeRule } from '@waybill/core/internal'
import { durationMs, orFalse, resolveOptions } from '@waybill/core/option'
import { InFlight } from '../claim/in-flight.ts'

/** The events that a dispatcher works on, so that none is delivered twice at a time. */
export interface InFlightTracker {
  /** Takes an event. Returns false if it is already held. */
  tryAcquire(eventId: string): boolean
  /** Releases an event; does nothing for one that is not held. */
  release(eventId: string): void
  /**
   * Runs a query of the table together with the processing of its result. A row settled meanwhile would look new, so
   * events released during it stay in flight until it ends.
   */
  duringQuery<T>(query: () => Promise<T>): Promise<T>
}

/** Options of {@link createInFlightTracker}. */
export interface InFlightTrackerOptions {
  /** The time after which an event may be taken again, in case its listener never ends. @defaultValue false: never */
  readonly ttlMs?: number | false | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const rules = {
  ttlMs: orFalse(durationMs({ min: 1 }), { default: false, because: 'a slow listener is not a lost one' }),
  runtime: runtimeRule,
}

/** Creates a tracker in memory. */
export function createInFlightTracker(options: InFlightTrackerOptions = {}): InFlightTracker {
  const { ttlMs, runtime } = resolveOptions('createInFlightTracker', rules, options)
  const held = new InFlight<string>(runtime.clock, ttlMs)
  return Object.freeze<InFlightTracker>({
    tryAcquire: (eventId) => held.tryAcquire(eventId, eventId),
    release: (eventId) => held.release(eventId, eventId),
    duringQuery: (query) => held.duringQuery(query),
  })
}
