import type { EventEnvelope } from '@waybill/core'

/** How a transaction ended. UNSURE: it committed, and a savepoint may have undone the event alone. */
export type WriteEnd = 'COMMITTED' | 'UNSURE' | 'ROLLED_BACK'

/** What is known here about an event that this process wrote. */
export type WrittenState = 'OPEN' | WriteEnd | 'DONE' | 'DEAD'

/** The events of one call share the end of their transaction. */
interface Write {
  state: 'OPEN' | WriteEnd
}

type Generation = Map<string, Write | 'DONE' | 'DEAD'>

/**
 * What became of the events written here, newest kept: published() is mostly asked right after the commit, when the event
 * is on its way or already there. Events of open transactions are not forgotten; their number is that of transactions.
 *
 * It is told of every event, so it does little for each: an end is written down once for all events of a call, who know it
 * by the array they were written with; and nothing is forgotten singly. Of two generations the younger takes in what is
 * written, and when enough of that has ended, it becomes the elder, and the elder goes as a whole.
 */
export class EventMemory {
  readonly #capacity: number
  readonly #open = new Map<readonly EventEnvelope[], Write>()
  #young: Generation = new Map()
  #old: Generation = new Map()
  #endedInYoung = 0

  /** @param capacity so many events of ended transactions are remembered at least, and twice as many at most */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  stateOf(id: string): WrittenState | undefined {
    const known = this.#young.get(id) ?? this.#old.get(id)
    return typeof known === 'object' ? known.state : known
  }

  opened(events: readonly EventEnvelope[]): void {
    const write: Write = { state: 'OPEN' }
    this.#open.set(events, write)
    for (const { eventId } of events) this.#young.set(eventId, write)
  }

  /** @param events the very array that was opened */
  ended(events: readonly EventEnvelope[], state: WriteEnd): void {
    const write = this.#open.get(events)
    if (write === undefined) return
    this.#open.delete(events)
    write.state = state
    this.#endedInYoung += events.length
    if (this.#endedInYoung >= this.#capacity) this.#age()
  }

  /** Nobody knows how its transaction ended: only the table can tell. @param events the very array that was opened */
  forget(events: readonly EventEnvelope[]): void {
    this.#open.delete(events)
    for (const { eventId } of events) {
      this.#young.delete(eventId)
      this.#old.delete(eventId)
    }
  }

  /** Kept only for events that are remembered. */
  finished(id: string, state: 'DONE' | 'DEAD'): void {
    if (this.#young.has(id)) this.#young.set(id, state)
    else if (this.#old.has(id)) this.#old.set(id, state)
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#endedInYoung = 0
    for (const [events, write] of this.#open)
      for (const { eventId } of events) this.#young.set(eventId, this.#old.get(eventId) ?? write)
  }
}
