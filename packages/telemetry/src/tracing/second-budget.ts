import type { Clock } from '@waybill/core'

/** Allows a number of things a second, for each name. */
export class SecondBudget {
  readonly #perSecond: number
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #used = new Map<string, { second: number; count: number }>()

  constructor(perSecond: number, clock: Pick<Clock, 'monotonic'>) {
    this.#perSecond = perSecond
    this.#clock = clock
  }

  /** Returns false when this second's share is used up. */
  take(name: string): boolean {
    const second = Math.floor(this.#clock.monotonic() / 1_000)
    const used = this.#used.get(name)
    if (used === undefined || used.second !== second) {
      this.#used.set(name, { second, count: 1 })
      return true
    }
    used.count++
    return used.count <= this.#perSecond
  }
}
