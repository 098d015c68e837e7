import { type Clock, systemRuntime } from '@waybill/core'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'

/**
 * The handlers of a binding that may run at once, over all its partitions. Partitions that find no free slot are called
 * first come, first served, so that a busy partition cannot starve the others.
 */
export class Slots {
  readonly #size: number
  readonly #waiting = new Set<() => void>()
  #taken = 0
  readonly #clock: Pick<Clock, 'monotonic'>
  /** Of the time before the current calls. */
  #busyMs = 0
  #busySince = 0

  constructor(size: number, clock: Pick<Clock, 'monotonic'> = systemRuntime.clock) {
    this.#size = size
    this.#clock = clock
  }

  /** Handlers running now. */
  get taken(): number {
    return this.#taken
  }

  /** The time in which at least one handler ran. The clock is read when the first one starts and the last one ends. */
  get busyMs(): number {
    return this.#taken === 0 ? this.#busyMs : this.#busyMs + this.#clock.monotonic() - this.#busySince
  }

  /** True when another partition waits: a worker that finishes a record releases its slot. */
  get isContended(): boolean {
    return this.#waiting.size > 0
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#size) return false
    if (this.#taken++ === 0) this.#busySince = this.#clock.monotonic()
    return true
  }

  /** Releases a slot and wakes the longest waiting partition; if that does not take it, the next one. */
  release(): void {
    if (--this.#taken === 0) this.#busyMs += this.#clock.monotonic() - this.#busySince
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
export function slotsFor(
  { parallelism, maxInFlight }: Pick<ResolvedBinding, 'parallelism' | 'maxInFlight'>,
  clock?: Pick<Clock, 'monotonic'>,
): Slots {
  return new Slots(parallelism === 'PARTITION' ? Number.POSITIVE_INFINITY : maxInFlight, clock)
}
