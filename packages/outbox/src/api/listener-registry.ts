import { ArgumentError, type ListenerRegistry, type OutboxListener, StateError } from '@waybill/core'
import { type AggregateType, type EventType, globalAggregateType, nameOf, requireText } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'

/** A registry that you fill by hand, before or while the outbox runs. */
export interface ListenerTable extends ListenerRegistry {
  /** Registers a listener for events without an aggregate type. @throws StateError when one is registered already. */
  register(eventType: string | EventType, listener: OutboxListener): this
  /**
   * Registers a listener for exactly this aggregate type and event type. @throws StateError when one is registered
   * already.
   */
  register(aggregateType: string | AggregateType, eventType: string | EventType, listener: OutboxListener): this
}

/**
 * Creates an empty {@link ListenerTable}. Each pair of aggregate type and event type has one listener, and only an
 * exact match counts. Use an interceptor for work that every event needs.
 */
export function createListenerRegistry(): ListenerTable {
  // Nested maps, because names joined into one key could collide.
  const table = new Map<string, Map<string, OutboxListener>>()
  const add = (aggregateType: string, eventType: string, listener: OutboxListener): void => {
    if (typeof listener !== 'function')
      throw new ArgumentError(
        `The listener of ${aggregateType}:${eventType} must be a function, got ${showValue(listener)}.`,
      )
    const listeners = table.get(aggregateType) ?? new Map<string, OutboxListener>()
    if (listeners.has(eventType))
      throw new StateError(`${aggregateType}:${eventType} already has a listener.`, {
        hint: 'Call both from one listener, or use an interceptor for work that every event needs.',
      })
    table.set(aggregateType, listeners.set(eventType, listener))
  }
  const registry: ListenerTable = {
    register(
      ...given: [string | EventType, OutboxListener] | [string | AggregateType, string | EventType, OutboxListener]
    ) {
      const [aggregateType, eventType, listener] =
        given.length === 2 ? ([globalAggregateType, ...given] as const) : given
      add(
        requireText('aggregateType', nameOf(aggregateType, 'aggregateType')),
        requireText('eventType', nameOf(eventType, 'eventType')),
        listener,
      )
      return registry
    },
    listenerFor: (aggregateType, eventType) => table.get(aggregateType)?.get(eventType) ?? null,
  }
  return Object.freeze(registry)
}
