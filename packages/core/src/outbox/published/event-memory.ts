import { Ring } from '../dispatch/ring.ts'

/** What is known here about an event that this process wrote. */
export type WrittenState = 'OPEN' | 'COMMITTED' | 'ROLLED_BACK' | 'DONE' | 'DEAD'

/**
 * What became of the events written here, newest kept: published() is mostly asked right after the commit, when the event
 * is on its way or already there. Events of open transactions are not forgotten; their number is that of transactions.
 */
export class EventMemory {
  readonly #open = new Set<string>()
  readonly #ended = new Map<string, Exclude<WrittenState, 'OPEN'>>()
  /** The ids of those in the order of their ends: the first entry of a map from which many were deleted is slow to find. */
  readonly #order: Ring<string>

  constructor(capacity: number) {
    this.#order = new Ring(capacity)
  }

  stateOf(id: string): WrittenState | undefined {
    return this.#open.has(id) ? 'OPEN' : this.#ended.get(id)
  }

  opened(id: string): void {
    this.#open.add(id)
  }

  ended(id: string, state: 'COMMITTED' | 'ROLLED_BACK'): void {
    this.#open.delete(id)
    if (!this.#ended.has(id)) this.#remember(id)
    this.#ended.set(id, state)
  }

  /** Nobody knows how its transaction ended: only the table can tell. */
  forget(id: string): void {
    this.#open.delete(id)
  }

  /** Kept only for events whose commit is remembered. */
  finished(id: string, state: 'DONE' | 'DEAD'): void {
    if (this.#ended.has(id)) this.#ended.set(id, state)
  }

  #remember(id: string): void {
    if (this.#order.push(id)) return
    const oldest = this.#order.shift()
    if (oldest !== undefined) this.#ended.delete(oldest)
    this.#order.push(id)
  }
}
