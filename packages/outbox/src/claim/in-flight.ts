import type { Clock } from '@waybill/core'

/** The origin of an event in memory: a commit of this process, or a read of rows of this status. */
export type BufferLane = 'HOT' | 'NEW' | 'RETRY'

/** An event's share of memory. */
export interface BufferedEvent {
  readonly lane: BufferLane
  readonly bytes: number
}

/** The holder of an id: a row, or a reservation whose row does not exist yet. */
interface Place<R> extends BufferedEvent {
  row: R | null
}

const weightless: BufferedEvent = { lane: 'NEW', bytes: 0 }

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
  readonly #bytes: Record<BufferLane, number> = { HOT: 0, NEW: 0, RETRY: 0 }
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

  /** The bytes of all events here, reservations included (I24). */
  get bytes(): number {
    const { HOT, NEW, RETRY } = this.#bytes
    return HOT + NEW + RETRY
  }

  bytesOf(lane: BufferLane): number {
    return this.#bytes[lane]
  }

  /**
   * Reserves ids before their rows exist, all or none; undefined if one is already held. Rows are later assigned by
   * position, which saves a lookup per event at each commit.
   *
   * @param sizes the bytes of each event
   */
  reserve(ids: readonly string[], sizes: readonly number[] = []): Reservation<R> | undefined {
    const places: Place<R>[] = []
    const cancel = (): void => places.forEach((place, at) => this.#free(ids[at] as string, place))
    for (const [at, id] of ids.entries()) {
      const place = this.#take(id, { row: null, lane: 'HOT', bytes: sizes[at] ?? 0 })
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
  tryAcquire(id: string, row: R, { lane, bytes }: BufferedEvent = weightless): boolean {
    return this.#take(id, { row, lane, bytes }) !== undefined
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

  /** Yields every row held with its bytes, without reservations. */
  *holders(): Generator<{ readonly row: R; readonly bytes: number }> {
    for (const { row, bytes } of this.#held.values()) if (row !== null) yield { row, bytes }
  }

  #take(id: string, place: Place<R>): Place<R> | undefined {
    const former = this.#held.get(id)
    if (this.#releasedDuringQuery.has(id) || (former !== undefined && !this.#isStale(id))) return undefined
    if (former !== undefined) this.#bytes[former.lane] -= former.bytes
    this.#bytes[place.lane] += place.bytes
    this.#held.set(id, place)
    this.#takenAt?.set(id, this.#clock.monotonic())
    return place
  }

  /** Frees a place unless another holder has taken it over since it became stale. */
  #free(id: string, place: Place<R>): void {
    if (this.#held.get(id) !== place) return
    this.#held.delete(id)
    this.#bytes[place.lane] -= place.bytes
    this.#takenAt?.delete(id)
    if (this.#queries > 0) this.#releasedDuringQuery.add(id)
  }

  #isStale(id: string): boolean {
    const takenAt = this.#takenAt?.get(id)
    return takenAt !== undefined && this.#clock.monotonic() - takenAt >= this.#ttlMs
  }
}
