import type { Clock } from '../../time/clock.ts'

/**
 * The events this process works on, by id, from the moment their queue slot is reserved until their finish is confirmed:
 * a row that lies in the hot queue is pending in the table as well, and must not be taken twice (S1-081, C-32).
 *
 * A look at the table shows the past: a row may be settled and released after the look began and before its answer is
 * read, and would then seem to be new. So what is released during a look stays in flight until the look is over.
 */
export class InFlight<R> {
  readonly #held = new Map<string, R | null>()
  readonly #releasedDuringLook = new Set<string>()
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #ttlMs: number
  /** When each was taken; kept only where entries grow old. */
  readonly #takenAt: Map<string, number> | undefined
  #looks = 0

  /** @param ttlMs an entry older than this may be taken again, for a listener that never ends (S1-082). False: never. */
  constructor(clock: Pick<Clock, 'monotonic'>, ttlMs: number | false = false) {
    this.#clock = clock
    this.#ttlMs = ttlMs === false ? Number.POSITIVE_INFINITY : ttlMs
    this.#takenAt = ttlMs === false ? undefined : new Map()
  }

  get size(): number {
    return this.#held.size
  }

  /** Takes an id before its row exists. False when it is held already. */
  reserve(id: string): boolean {
    return this.#take(id, null)
  }

  /** Puts the row in the place of its reservation. */
  fulfil(id: string, row: R): void {
    this.#held.set(id, row)
  }

  /** Takes an id for a row. False when it is held already. */
  tryAcquire(id: string, row: R): boolean {
    return this.#take(id, row)
  }

  /** Whether this process works on it, or is about to. */
  has(id: string): boolean {
    return this.#held.has(id)
  }

  /** The row that holds the id; undefined for a reservation and for what is free. */
  holderOf(id: string): R | undefined {
    return this.#held.get(id) ?? undefined
  }

  /** Gives an id back that this row holds (null: a reservation). For any other it does nothing. */
  release(id: string, row: R | null): void {
    if (this.#held.get(id) !== row) return
    this.#held.delete(id)
    this.#takenAt?.delete(id)
    if (this.#looks > 0) this.#releasedDuringLook.add(id)
  }

  /** Runs a look at the table and what is made of its answer. */
  async duringLook<T>(look: () => Promise<T>): Promise<T> {
    this.#looks++
    try {
      return await look()
    } finally {
      this.#looks--
      if (this.#looks === 0) this.#releasedDuringLook.clear()
    }
  }

  /** Every row held, reservations left out. */
  *rows(): Generator<R> {
    for (const row of this.#held.values()) if (row !== null) yield row
  }

  #take(id: string, row: R | null): boolean {
    if (this.#releasedDuringLook.has(id) || (this.#held.has(id) && !this.#isStale(id))) return false
    this.#held.set(id, row)
    this.#takenAt?.set(id, this.#clock.monotonic())
    return true
  }

  #isStale(id: string): boolean {
    const takenAt = this.#takenAt?.get(id)
    return takenAt !== undefined && this.#clock.monotonic() - takenAt >= this.#ttlMs
  }
}
