import type { RowRef } from '../api/outbox-store.ts'
import type { Destinations } from '../destination/destinations.ts'

/** A row that can probe its destination. */
export interface ProbeRow extends RowRef {
  readonly destination: string
}

/** The number of rows remembered per destination: one that only looks unavailable must not be alone. */
const maxRows = 4

/**
 * A few waiting rows of each unavailable destination. A probe fetches one of them, wherever it lies in the table, so
 * that the rows behind it are not read again before the destination is available.
 */
export class ProbeRows {
  readonly #destinations: Pick<Destinations, 'probes'>
  readonly #isInFlight: (eventId: string) => boolean
  readonly #rows = new Map<string, RowRef[]>()

  constructor(destinations: Pick<Destinations, 'probes'>, isInFlight: (eventId: string) => boolean) {
    this.#destinations = destinations
    this.#isInFlight = isInFlight
  }

  add(destination: string, { seq, eventId }: RowRef): void {
    const rows = this.#rows.get(destination) ?? []
    this.#rows.set(destination, rows)
    if (rows.length < maxRows && !rows.some((row) => row.seq === seq)) rows.push({ seq, eventId })
  }

  /** Forgets the rows of a destination that is available again. */
  opened(destination: string): void {
    this.#rows.delete(destination)
  }

  /** Removes a row that is no longer pending. @returns whether it was the last one of its destination */
  remove({ destination, seq }: ProbeRow): boolean {
    const rows = (this.#rows.get(destination) ?? []).filter((row) => row.seq !== seq)
    if (rows.length > 0) this.#rows.set(destination, rows)
    else this.#rows.delete(destination)
    return rows.length === 0
  }

  /** When the next probe is due, by the monotonic clock. Infinity: none is known, or it is waiting for its listener. */
  get nextAt(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { name, at } of this.#destinations.probes()) if (at < next && this.#rowsOf(name).length > 0) next = at
    return next
  }

  /** Returns a row for each probe that is due, preferably not the one that failed last. */
  due(nowMs: number): ProbeRow[] {
    const due: ProbeRow[] = []
    for (const { name, at, lastFailed } of this.#destinations.probes()) {
      const rows = at > nowMs ? [] : this.#rowsOf(name)
      const row = rows.find(({ eventId }) => eventId !== lastFailed) ?? rows[0]
      if (row !== undefined) due.push({ ...row, destination: name })
    }
    return due
  }

  /** Returns the rows that can probe now: none while one of them is in flight. */
  #rowsOf(name: string): readonly RowRef[] {
    const rows = this.#rows.get(name) ?? []
    return rows.some(({ eventId }) => this.#isInFlight(eventId)) ? [] : rows
  }
}
