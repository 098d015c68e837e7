/**
 * The share of connections that were busy since the last reading. At one instant a burst of a few requests may hold all of
 * them, which is no saturation.
 */
export class BusyShare {
  readonly #size: number
  readonly #now: () => number
  readonly #busy = new Set<object>()
  /** Connections times milliseconds. */
  #spent = 0
  #changedAt: number
  #readAt: number

  constructor(size: number, now: () => number) {
    this.#size = size
    this.#now = now
    this.#changedAt = now()
    this.#readAt = this.#changedAt
  }

  readonly acquired = (connection: object): void => {
    this.#settle()
    this.#busy.add(connection)
  }

  /** Without effect on a connection that is not busy: one that breaks is reported more than once. */
  readonly released = (connection: object): void => {
    this.#settle()
    this.#busy.delete(connection)
  }

  /** Returns the share, from 0 to 1, and begins anew. */
  read(): number {
    this.#settle()
    const elapsed = this.#changedAt - this.#readAt
    const share = elapsed > 0 ? this.#spent / (elapsed * this.#size) : this.#busy.size / this.#size
    this.#spent = 0
    this.#readAt = this.#changedAt
    return Math.min(1, share)
  }

  /** Counts the time since the last change. */
  #settle(): void {
    const now = this.#now()
    this.#spent += this.#busy.size * (now - this.#changedAt)
    this.#changedAt = now
  }
}
