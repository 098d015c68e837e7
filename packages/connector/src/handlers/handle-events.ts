/** Creates handlers of catalog events. */

import type { EventCatalog, Inbox, PayloadOf, ReceivedEvent, Schemas } from '@waybill/core'
import { func, hasMethods, instance, optional, type Report, resolveOptions } from '@waybill/core/option'
import { checkCatalog } from '@waybill/kafka/internal'
import type { DeliveryContext, EventHandler } from '../api/handler-types.ts'
import { type AnyEventHandler, EventPreparer } from './event-preparer.ts'

/** Handlers by event name. Events of the catalog without a handler are skipped, counted and audited. */
export type EventHandlers<S extends Schemas, Tx = undefined> = {
  readonly [N in keyof S & string]?: (
    event: ReceivedEvent<N, PayloadOf<S, N>>,
    context: DeliveryContext<S, Tx>,
  ) => Promise<void> | void
}

/** Options of {@link handleEvents}. */
export interface HandleEventsOptions<Tx> {
  /**
   * Marks each event in the SQL transaction of its handler, `context.tx`, so that a duplicate has no second effect.
   * Without an inbox, delivery is at least once, and the handler must tolerate duplicates.
   */
  readonly inbox?: Inbox<Tx> | undefined
}

// A registered symbol, so that handlers of another copy of the package are recognized.
const preparer = Symbol.for('@waybill/connector/event-preparer')

/**
 * Creates a handler for events of a catalog. Names and payloads have the types of the catalog, so that a misspelled
 * name does not compile.
 *
 * @throws OptionsError with all violations
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

/** Returns the preparer of a handler; undefined unless `handleEvents` created it. */
export function preparerOf(handler: unknown): EventPreparer | undefined {
  const isObject = typeof handler === 'object' && handler !== null
  return isObject ? (handler as { [preparer]?: EventPreparer })[preparer] : undefined
}

const optionRules = { inbox: optional(instance<Inbox<unknown>>('an Inbox', (value) => hasMethods(value, 'run'))) }

/** Returns a map, since looking up an event named `constructor` in an object would find an inherited function. */
function byName(checked: object, owner: object): ReadonlyMap<string, AnyEventHandler> {
  const given = Object.entries(checked).filter(([, handler]) => handler !== undefined)
  // Types are checked at the call of handleEvents; from here on names and payloads are data.
  return new Map(given.map(([name, handler]) => [name, (handler as AnyEventHandler).bind(owner)]))
}

function requireOne(handlers: object, report: Report): void {
  if (Object.values(handlers).every((handler) => handler === undefined))
    report('', 'must have a handler for at least one event')
}
