/** Handlers of catalog events, by name. */

import type { EventCatalog, Inbox, PayloadOf, ReceivedEvent, Schemas } from '@waybill/core'
import { func, hasMethods, instance, optional, type Report, resolveOptions } from '@waybill/core/option'
import { checkCatalog } from '@waybill/kafka/internal'
import type { DeliveryContext, EventHandler } from '../api/handler-types.ts'
import { type AnyEventHandler, EventPreparer } from './event-preparer.ts'

/** The handlers of a binding. An event of the catalog that has none here is passed over, counted and audited. */
export type EventHandlers<S extends Schemas, Tx = undefined> = {
  readonly [N in keyof S & string]?: (
    event: ReceivedEvent<N, PayloadOf<S, N>>,
    context: DeliveryContext<S, Tx>,
  ) => Promise<void> | void
}

/** Options of {@link handleEvents}. */
export interface HandleEventsOptions<Tx> {
  /**
   * Marks each event in the transaction its handler writes with, `context.tx`: a repeat then has no second effect.
   * Without one delivery is at-least-once, and a handler must bear a repeat.
   */
  readonly inbox?: Inbox<Tx> | undefined
}

// Also found on a handler that another copy of the package made.
const preparer = Symbol.for('@waybill/connector/event-preparer')

/**
 * Handles events of a catalog. Names and payloads are those of the catalog: a misspelt one does not compile.
 *
 * @throws OptionsError with everything that is wrong.
 */
export function handleEvents<S extends Schemas, Tx = undefined>(
  events: EventCatalog<S>,
  handlers: EventHandlers<S, Tx>,
  options: HandleEventsOptions<Tx> = {},
): EventHandler {
  checkCatalog('handleEvents', events)
  const names = Object.keys(events.definitions)
  const rules = Object.fromEntries(names.map((name) => [name, optional(func())]))
  const checked = resolveOptions('handleEvents', rules, handlers, requireOne)
  const { inbox } = resolveOptions('handleEvents', optionRules, options)
  const made = new EventPreparer(events, byName(checked, handlers), inbox)
  return Object.freeze({ handlers: checked, [preparer]: made })
}

/** How the engine reads records for a handler; undefined for anything that `handleEvents` did not make. */
export function preparerOf(handler: unknown): EventPreparer | undefined {
  const isObject = typeof handler === 'object' && handler !== null
  return isObject ? (handler as { [preparer]?: EventPreparer })[preparer] : undefined
}

const optionRules = { inbox: optional(instance<Inbox<unknown>>('an Inbox', (value) => hasMethods(value, 'run'))) }

/** A map: of an object, an event called `constructor` would find a handler that nobody gave. */
function byName(checked: object, owner: object): ReadonlyMap<string, AnyEventHandler> {
  const given = Object.entries(checked).filter(([, handler]) => handler !== undefined)
  // The types hold for what users write; from here on names and payloads are data.
  return new Map(given.map(([name, handler]) => [name, (handler as AnyEventHandler).bind(owner)]))
}

function requireOne(handlers: object, report: Report): void {
  if (Object.values(handlers).every((handler) => handler === undefined))
    report('', 'must have a handler for at least one event')
}
