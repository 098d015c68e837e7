/** The slots of a sliding window. Memory is bounded by their number, whatever the rate. */

interface Slot<T> {
  readonly index: number
  readonly content: T
}

/** Remembers what happened in the last `windowMs`, and at most a slot longer. */
export class SlidingWindow<T> {
  readonly #slotMs: number
  readonly #count: number
  readonly #create: () => T
  #slots: Slot<T>[] = []

  constructor(windowMs: number, slots: number, create: () => T) {
    this.#slotMs = windowMs / slots
    this.#count = slots
    this.#create = create
  }

  /** Returns the content of the current slot, to add to it. */
  current(nowMs: number): T {
    const index = Math.floor(nowMs / this.#slotMs)
    const last = this.#slots.at(-1)
    if (last?.index === index) return last.content
    this.#drop(index)
    const slot = { index, content: this.#create() }
    this.#slots.push(slot)
    return slot.content
  }

  /** Returns the contents of the slots that are in the window. */
  within(nowMs: number): readonly T[] {
    this.#drop(Math.floor(nowMs / this.#slotMs))
    return this.#slots.map(({ content }) => content)
  }

  #drop(index: number): void {
    if ((this.#slots[0]?.index ?? index) < index - this.#count)
      this.#slots = this.#slots.filter((slot) => slot.index >= index - this.#count)
  }
}
