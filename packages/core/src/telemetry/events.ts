/** Where a service is in its life. */
export type ServiceState = 'CREATED' | 'STARTING' | 'RUNNING' | 'STOPPING' | 'STOPPED' | 'FAILED'

/**
 * The events engines emit, by name: a noun, then a past participle. Another package adds the events it
 * publishes by declaration merging:
 *
 * ```ts
 * declare module '@waybill/core' {
 *   interface EngineEvents { 'partition:assigned': { readonly topic: string; readonly partition: number } }
 * }
 * ```
 *
 * Payloads carry names, numbers and errors. They never carry a record's value or an options object, since it is unknown
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
