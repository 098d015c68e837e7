/** A queue of fixed capacity in which both ends take constant time. */
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

  /** Adds an item. Returns false if the queue is full. */
  push(item: T): boolean {
    if (this.#length === this.capacity) return false
    this.#slots[(this.#first + this.#length) % this.capacity] = item
    this.#length++
    return true
  }

  /** Removes the oldest item; undefined if the queue is empty. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const item = this.#slots[this.#first]
    this.#slots[this.#first] = undefined
    this.#first = (this.#first + 1) % this.capacity
    this.#length--
    return item
  }
}
