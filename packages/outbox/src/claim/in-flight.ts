import type { Clock } from '@waybill/core'

/** Where an id is held: by a row, or by a reservation whose row does not exist yet. */
interface Place<R> {
  row: R | null
}

/** Ids that are held before their rows exist. */
export interface Reservation<R> {
  /** The rows take their places, in the order of the ids. */
  fulfil(rows: readonly R[]): void
  /** The places are free again. */
  cancel(): void
}

/**
 * The events this process works on, by id, from the moment their queue slot is reserved until their finish is confirmed:
 * a row that lies in the hot queue is pending in the table as well, and must not be taken twice (S1-081, C-32).
 *
 * A look at the table shows the past: a row may be settled and released after the look began and before its answer is
 * read, and would then seem to be new. So what is released during a look stays in flight until the look is over.
 */
export class InFlight<R> {
  readonly #held = new Map<string, Place<R>>()
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

  /**
   * Takes ids before their rows exist, all or none: undefined when one is held already. The rows find their places without
   * another look at each id, since they come with every commit.
   */
  reserve(ids: readonly string[]): Reservation<R> | undefined {
    const places: Place<R>[] = []
    const cancel = (): void => places.forEach((place, at) => this.#free(ids[at] as string, place))
    for (const id of ids) {
      const place = this.#take(id, null)
      if (place === undefined) {
        cancel()
        return undefined
      }
      places.push(place)
    }
    return {
      cancel,
      fulfil(rows) {
        for (let at = 0; at < places.length; at++) (places[at] as Place<R>).row = rows[at] as R
      },
    }
  }

  /** Takes an id for a row. False when it is held already. */
  tryAcquire(id: string, row: R): boolean {
    return this.#take(id, row) !== undefined
  }

  /** Whether this process works on it, or is about to. */
  has(id: string): boolean {
    return this.#held.has(id)
  }

  /** The row that holds the id; undefined for a reservation and for what is free. */
  holderOf(id: string): R | undefined {
    return this.#held.get(id)?.row ?? undefined
  }

  /** Gives an id back that this row holds. For any other it does nothing. */
  release(id: string, row: R): void {
    const place = this.#held.get(id)
    if (place?.row === row) this.#free(id, place)
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
    for (const { row } of this.#held.values()) if (row !== null) yield row
  }

  #take(id: string, row: R | null): Place<R> | undefined {
    if (this.#releasedDuringLook.has(id) || (this.#held.has(id) && !this.#isStale(id))) return undefined
    const place: Place<R> = { row }
    this.#held.set(id, place)
    this.#takenAt?.set(id, this.#clock.monotonic())
    return place
  }

  /** A place that somebody else took over, when it had grown old, is not freed by its former holder. */
  #free(id: string, place: Place<R>): void {
    if (this.#held.get(id) !== place) return
    this.#held.delete(id)
    this.#takenAt?.delete(id)
    if (this.#looks > 0) this.#releasedDuringLook.add(id)
  }

  #isStale(id: string): boolean {
    const takenAt = this.#takenAt?.get(id)
    return takenAt !== undefined && this.#clock.monotonic() - takenAt >= this.#ttlMs
  }
}
