import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/**
 * How many handlers of a binding may run at once, over all its partitions. Who finds none free is called when one is,
 * first come first served, so that a busy partition cannot starve the others.
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

  /** True when somebody waits: whoever finishes a record lets them go first. */
  get isContended(): boolean {
    return this.#waiting.size > 0
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#size) return false
    this.#taken++
    return true
  }

  /** Gives a slot back and wakes who has waited longest; who does not need it any more leaves it to the next. */
  release(): void {
    this.#taken--
    for (const wake of this.#waiting) {
      if (this.#taken >= this.#size) return
      this.#waiting.delete(wake)
      wake()
    }
  }

  /** Calls `wake` once when a slot was given back; asking again while waiting keeps the place in the queue. */
  whenFree(wake: () => void): void {
    this.#waiting.add(wake)
  }

  /** Does not wait any more. */
  forget(wake: () => void): void {
    this.#waiting.delete(wake)
  }
}

/** PARTITION needs no bound of its own: it runs one record of each partition. */
export function slotsFor({ parallelism, maxInFlight }: Pick<ResolvedBinding, 'parallelism' | 'maxInFlight'>): Slots {
  return new Slots(parallelism === 'PARTITION' ? Number.POSITIVE_INFINITY : maxInFlight)
}
