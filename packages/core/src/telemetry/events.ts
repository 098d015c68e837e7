import type { ServiceState } from '../lifecycle/service.ts'

/**
 * What the engines say about themselves, by name: a noun, then what happened to it. Another package adds the events it
 * publishes by declaration merging:
 *
 * ```ts
 * declare module '@waybill/core' {
 *   interface EngineEvents { 'partition:assigned': { readonly topic: string; readonly partition: number } }
 * }
 * ```
 *
 * Payloads carry names, numbers and errors. They never carry a record's value or an options object, since nobody knows
 * where a subscriber writes them.
 */
export interface EngineEvents {
  /** A circuit breaker let work through, refused it, or began to probe. */
  'breaker:state-changed': {
    readonly breaker: string
    readonly from: 'CLOSED' | 'OPEN' | 'HALF_OPEN'
    readonly to: 'CLOSED' | 'OPEN' | 'HALF_OPEN'
  }
  /** A service took a step of its life; `error` is why it FAILED. */
  'service:state-changed': {
    readonly service: string
    readonly from: ServiceState
    readonly to: ServiceState
    readonly error?: unknown
  }
}

/** The name of an engine event. */
export type EngineEventName = keyof EngineEvents
