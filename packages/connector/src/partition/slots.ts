import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/**
 * The handlers of a binding that may run at once, over all its partitions. Partitions that find no free slot are called
 * first come, first served, so that a busy partition cannot starve the others.
 */
export class Slots {
  readonly #size: number
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Handlers running now. */
  get taken(): number {
    return this.#taken
  }

  /** True when another partition waits: a worker that finishes a record releases its slot. */
  get isContended(): boolean {
    return this.#waiting.size > 0
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#size) return false
    this.#taken++
    return true
  }

  /** Releases a slot and wakes the longest waiting partition; if that does not take it, the next one. */
  release(): void {
    this.#taken--
    for (const wake of this.#waiting) {
      if (this.#taken >= this.#size) return
      this.#waiting.delete(wake)
      wake()
    }
  }

  /** Calls `wake` once when a slot is released. A repeated call keeps the place in the queue. */
  whenFree(wake: () => void): void {
    this.#waiting.add(wake)
  }

  /** Removes a waiting partition. */
  forget(wake: () => void): void {
    this.#waiting.delete(wake)
  }
}

/** Creates the slots of a binding. PARTITION needs no limit: it runs one record per partition. */
export function slotsFor({ parallelism, maxInFlight }: Pick<ResolvedBinding, 'parallelism' | 'maxInFlight'>): Slots {
  return new Slots(parallelism === 'PARTITION' ? Number.POSITIVE_INFINITY : maxInFlight)
}
