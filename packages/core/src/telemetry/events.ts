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
  /** An event's delivery was given up: its attempts are used up, or trying again cannot help. */
  'outbox:event-dead': {
    readonly outbox: string
    readonly eventId: string
    /** Attempts in all. */
    readonly attempts: number
    readonly error: string
  }
  /** Events of a committed transaction found no room in the hot queue: the poller delivers them. */
  'outbox:hot-dropped': { readonly outbox: string; readonly events: number }
  /** Rows this process worked on may belong to another node by now. */
  'outbox:lease-lost': { readonly outbox: string; readonly rows: number }
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
