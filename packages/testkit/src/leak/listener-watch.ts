import { type EventEmitter, getEventListeners } from 'node:events'
import type { LeakedResource } from './leaked-resource.ts'

type Listeners = ReadonlyMap<string | symbol, readonly unknown[]>

/** Records the current listeners. Returns a function that lists those added since. */
export function watchListeners(emitters: readonly (EventEmitter | AbortSignal)[]): () => readonly LeakedResource[] {
  const before = emitters.map((emitter) => [emitter, listenersOf(emitter)] as const)
  return () => before.flatMap(([emitter, listeners]) => newListeners(emitter, listeners, listenersOf(emitter)))
}

function newListeners(
  emitter: EventEmitter | AbortSignal,
  before: Listeners,
  after: Listeners,
): readonly LeakedResource[] {
  return [...after].flatMap(([event, listeners]) => {
    const known = [...(before.get(event) ?? [])]
    // A listener can be added several times, and each time counts.
    const added = listeners.filter((listener) => !take(known, listener))
    return added.map(
      (): LeakedResource => ({ kind: 'LISTENER', what: `a listener for ${String(event)} of ${nameOf(emitter)}` }),
    )
  })
}

function listenersOf(emitter: EventEmitter | AbortSignal): Listeners {
  if (emitter instanceof EventTarget) return new Map([['abort', getEventListeners(emitter, 'abort')]])
  return new Map(emitter.eventNames().map((event) => [event, emitter.rawListeners(event)]))
}

function take(items: unknown[], item: unknown): boolean {
  const at = items.indexOf(item)
  if (at >= 0) items.splice(at, 1)
  return at >= 0
}

function nameOf(emitter: EventEmitter | AbortSignal): string {
  return emitter === process ? 'process' : emitter.constructor.name
}
