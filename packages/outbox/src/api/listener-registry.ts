import { ArgumentError, type ListenerRegistry, type OutboxListener, StateError } from '@waybill/core'
import { type AggregateType, type EventType, globalAggregateType, nameOf, requireText } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'

/** A registry that is filled by hand, before or while the outbox runs. */
export interface ListenerTable extends ListenerRegistry {
  /** Registers for events without an aggregate type of their own. @throws StateError when there is one already. */
  register(eventType: string | EventType, listener: OutboxListener): this
  /** Registers for exactly this aggregate type and event type. @throws StateError when there is one already. */
  register(aggregateType: string | AggregateType, eventType: string | EventType, listener: OutboxListener): this
}

/**
 * Makes an empty {@link ListenerTable}. One listener per aggregate type and event type, and only an exact match counts
 * (S1-094…097, C-70): what every event needs is an interceptor's work, not a second listener's (S1-098).
 */
export function createListenerRegistry(): ListenerTable {
  // Two maps, not one key of both: no two names run together, whatever signs they hold.
  const table = new Map<string, Map<string, OutboxListener>>()
  const add = (aggregateType: string, eventType: string, listener: OutboxListener): void => {
    if (typeof listener !== 'function')
      throw new ArgumentError(
        `The listener of ${aggregateType}:${eventType} is a function, not ${showValue(listener)}.`,
      )
    const listeners = table.get(aggregateType) ?? new Map<string, OutboxListener>()
    if (listeners.has(eventType))
      throw new StateError(`${aggregateType}:${eventType} has a listener already.`, {
        hint: 'Call both from one listener, or put what every event needs into an interceptor.',
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
