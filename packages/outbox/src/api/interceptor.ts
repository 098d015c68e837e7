import type { EventEnvelope, ListenerContext } from '@waybill/core'

/**
 * What surrounds every delivery, whichever listener it is for: tracing, metrics, a tenant's context (S1-098). Several
 * nest: the first one's `beforeDispatch` runs first, its `afterDispatch` last.
 */
export interface OutboxInterceptor {
  /** What it throws counts as the listener's failure, and the listener is not called (S1-074). */
  beforeDispatch?(event: EventEnvelope, context: ListenerContext): void | Promise<void>
  /**
   * Called only if its own `beforeDispatch` completed. What it throws is logged and changes nothing.
   *
   * @param error what the delivery failed with; null when it succeeded
   */
  afterDispatch?(event: EventEnvelope, error: unknown, context: ListenerContext): void | Promise<void>
}

/** An interceptor that only runs before (S1-076). */
export function beforeDispatch(hook: NonNullable<OutboxInterceptor['beforeDispatch']>): OutboxInterceptor {
  return Object.freeze({ beforeDispatch: hook })
}

/** An interceptor that only runs after. */
export function afterDispatch(hook: NonNullable<OutboxInterceptor['afterDispatch']>): OutboxInterceptor {
  return Object.freeze({ afterDispatch: hook })
}
