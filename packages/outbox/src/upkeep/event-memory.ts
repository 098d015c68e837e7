import type { EventEnvelope } from '@waybill/core'

/** The outcome of a transaction. UNSURE: it committed, but a savepoint may have undone the event. */
export type WriteEnd = 'COMMITTED' | 'UNSURE' | 'ROLLED_BACK'

/** The known state of an event that this process wrote. */
export type WrittenState = 'OPEN' | WriteEnd | 'DONE' | 'DEAD'

/** The shared transaction outcome of the events of one call. */
interface Write {
  state: 'OPEN' | WriteEnd
}

type Generation = Map<string, Write | 'DONE' | 'DEAD'>

/**
 * Remembers the state of events written here, newest kept: published() is mostly called right after the commit. Events
 * of open transactions are never forgotten; open transactions bound their number.
 *
 * It handles every event, so it does little for each. The outcome is stored once for all events of a call, found by the
 * identity of their array. Entries are dropped by generation, not singly: when enough of the young generation has
 * ended, it becomes the old one, and the old one is dropped.
 */
export class EventMemory {
  readonly #capacity: number
  readonly #open = new Map<readonly EventEnvelope[], Write>()
  #young: Generation = new Map()
  #old: Generation = new Map()
  #endedInYoung = 0

  /** @param capacity the minimum number of ended events remembered; the maximum is twice that */
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

  /** @param events the same array that was opened */
  ended(events: readonly EventEnvelope[], state: WriteEnd): void {
    const write = this.#open.get(events)
    if (write === undefined) return
    this.#open.delete(events)
    write.state = state
    this.#endedInYoung += events.length
    if (this.#endedInYoung >= this.#capacity) this.#age()
  }

  /** Forgets events whose outcome is unknown: only the table can tell. @param events the same array that was opened */
  forget(events: readonly EventEnvelope[]): void {
    this.#open.delete(events)
    for (const { eventId } of events) {
      this.#young.delete(eventId)
      this.#old.delete(eventId)
    }
  }

  /** Records the state of an event that is remembered; ignores others. */
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
