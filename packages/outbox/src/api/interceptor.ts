import type { EventEnvelope, ListenerContext } from '@waybill/core'

/**
 * Hooks around every delivery, whatever its listener: tracing, metrics, a tenant's context. Interceptors nest: the
 * first one's `beforeDispatch` runs first, its `afterDispatch` last.
 */
export interface OutboxInterceptor {
  /** Runs before the listener. If it throws, the delivery fails and the listener is not called. */
  beforeDispatch?(event: EventEnvelope, context: ListenerContext): void | Promise<void>
  /**
   * Runs after the delivery, if its own `beforeDispatch` completed. An error it throws is logged and changes nothing.
   *
   * @param error the delivery's failure; null when it succeeded
   */
  afterDispatch?(event: EventEnvelope, error: unknown, context: ListenerContext): void | Promise<void>
}

/** Returns an interceptor with only a `beforeDispatch` hook. */
export function beforeDispatch(hook: NonNullable<OutboxInterceptor['beforeDispatch']>): OutboxInterceptor {
  return Object.freeze({ beforeDispatch: hook })
}

/** Returns an interceptor with only an `afterDispatch` hook. */
export function afterDispatch(hook: NonNullable<OutboxInterceptor['afterDispatch']>): OutboxInterceptor {
  return Object.freeze({ afterDispatch: hook })
}
