import type { Clock } from '@waybill/core'

/** The holder of an id: a row, or a reservation whose row does not exist yet. */
interface Place<R> {
  row: R | null
}

/** Ids that are held before their rows exist. */
export interface Reservation<R> {
  /** Assigns the rows to their places, in the order of the ids. */
  fulfil(rows: readonly R[]): void
  /** Frees the places. */
  cancel(): void
}

/**
 * The events this process works on, by id, from the reservation of their queue slot until their settlement is
 * confirmed. A row in the hot queue is pending in the table as well, and must not be taken twice.
 *
 * A query shows the past: a row may be settled and released after the query began and before its result is read, and
 * would then look new. So ids released during a query stay in flight until it ends.
 */
export class InFlight<R> {
  readonly #held = new Map<string, Place<R>>()
  readonly #releasedDuringQuery = new Set<string>()
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #ttlMs: number
  /** When each id was taken. Kept only if entries can become stale. */
  readonly #takenAt: Map<string, number> | undefined
  #queries = 0

  /** @param ttlMs an entry older than this may be taken again, in case a listener never ends. False: never. */
  constructor(clock: Pick<Clock, 'monotonic'>, ttlMs: number | false = false) {
    this.#clock = clock
    this.#ttlMs = ttlMs === false ? Number.POSITIVE_INFINITY : ttlMs
    this.#takenAt = ttlMs === false ? undefined : new Map()
  }

  get size(): number {
    return this.#held.size
  }

  /**
   * Reserves ids before their rows exist, all or none; undefined if one is already held. Rows are later assigned by
   * position, which saves a lookup per event at each commit.
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

  /** Takes an id for a row. Returns false if it is already held. */
  tryAcquire(id: string, row: R): boolean {
    return this.#take(id, row) !== undefined
  }

  /** Whether this process works on the event, or is about to. */
  has(id: string): boolean {
    return this.#held.has(id)
  }

  /** Returns the row that holds the id; undefined for a reservation or a free id. */
  holderOf(id: string): R | undefined {
    return this.#held.get(id)?.row ?? undefined
  }

  /** Releases an id held by this row; otherwise does nothing. */
  release(id: string, row: R): void {
    const place = this.#held.get(id)
    if (place?.row === row) this.#free(id, place)
  }

  /** Runs a query on the table together with the processing of its result. */
  async duringQuery<T>(query: () => Promise<T>): Promise<T> {
    this.#queries++
    try {
      return await query()
    } finally {
      this.#queries--
      if (this.#queries === 0) this.#releasedDuringQuery.clear()
    }
  }

  /** Yields every row held, without reservations. */
  *rows(): Generator<R> {
    for (const { row } of this.#held.values()) if (row !== null) yield row
  }

  #take(id: string, row: R | null): Place<R> | undefined {
    if (this.#releasedDuringQuery.has(id) || (this.#held.has(id) && !this.#isStale(id))) return undefined
    const place: Place<R> = { row }
    this.#held.set(id, place)
    this.#takenAt?.set(id, this.#clock.monotonic())
    return place
  }

  /** Frees a place unless another holder has taken it over since it became stale. */
  #free(id: string, place: Place<R>): void {
    if (this.#held.get(id) !== place) return
    this.#held.delete(id)
    this.#takenAt?.delete(id)
    if (this.#queries > 0) this.#releasedDuringQuery.add(id)
  }

  #isStale(id: string): boolean {
    const takenAt = this.#takenAt?.get(id)
    return takenAt !== undefined && this.#clock.monotonic() - takenAt >= this.#ttlMs
  }
}
