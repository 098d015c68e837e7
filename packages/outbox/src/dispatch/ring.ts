/** A queue of fixed size in which both ends are cheap: the queues of a dispatcher are bounded (S1-102). */
export class Ring<T> {
  readonly capacity: number
  readonly #slots: (T | undefined)[]
  #first = 0
  #length = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.#slots = Array.from({ length: capacity })
  }

  get length(): number {
    return this.#length
  }

  /** False when it is full; nothing is added then. */
  push(item: T): boolean {
    if (this.#length === this.capacity) return false
    this.#slots[(this.#first + this.#length) % this.capacity] = item
    this.#length++
    return true
  }

  /** The oldest item, or undefined when it is empty. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const item = this.#slots[this.#first]
    this.#slots[this.#first] = undefined
    this.#first = (this.#first + 1) % this.capacity
    this.#length--
    return item
  }
}
