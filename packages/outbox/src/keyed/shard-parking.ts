/**
 * Decides which rows of one shard wait for their destinations, and where to read once a destination is available again.
 */

import type { EventKey, ShardRow } from '../api/outbox-store.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { Released } from './held-keys.ts'
import { ParkedKeys, type ProbeRow, refOf } from './parked-keys.ts'

/** Decides which rows wait for their destinations. */
export type Road = Pick<Destinations, 'isOpen' | 'blockerOf' | 'admit' | 'waits'>

export class ShardParking {
  readonly #road: Road
  readonly #parked = new ParkedKeys()
  /** Destinations that became available during a read, whose rows lie below it. */
  readonly #openedDuringRead = new Set<string>()
  #skipped = 0
  #skippedBefore = 0

  constructor(road: Road) {
    this.#road = road
  }

  /** Whether no row has to wait. */
  get isClear(): boolean {
    return this.#parked.isEmpty && this.#road.isOpen
  }

  /** The number of keys that wait. */
  get keys(): number {
    return this.#parked.size
  }

  /** The number of rows that a read from the start skips. */
  get skipped(): number {
    return this.#parked.isEmpty ? 0 : Math.max(this.#skipped, this.#skippedBefore)
  }

  isParked(key: EventKey, seq: bigint): boolean {
    return this.#parked.destinationOf(key, seq) !== undefined
  }

  /**
   * Skips a row that has to wait for a destination, its own or that of an earlier row of its key.
   * @param complete the point up to which the shard is complete
   * @returns false if the row may be queued
   */
  skips(read: ShardRow, complete: bigint | null): boolean {
    const parkedFor = read.key === null ? undefined : this.#parked.destinationOf(read.key, read.seq)
    const blocker = parkedFor ?? (read.event === null ? undefined : this.#road.blockerOf(read.event))
    if (blocker === undefined) return false
    if (parkedFor === undefined) this.#parked.park(blocker, { ...refOf(read), complete })
    this.#skipped++
    this.#road.waits(blocker, read.eventId)
    return true
  }

  /** Admits a row that is about to start. @returns the destination it has to wait for */
  admit({ event }: Pick<ShardRow, 'event'>): string | undefined {
    return event === null || this.#road.isOpen ? undefined : this.#road.admit(event)
  }

  /** Parks a key from this row on. @param complete the point up to which the shard is complete */
  park(destination: string, row: Omit<ProbeRow, 'complete'>, complete: bigint | null): void {
    this.#parked.park(destination, { ...refOf(row), complete })
    this.#road.waits(destination, row.eventId)
  }

  /** Releases the rows of a destination, after the current read. @returns where to read them from */
  opened(destination: string, isReading: boolean): Released | undefined {
    if (!isReading) return this.#parked.release(destination)
    this.#openedDuringRead.add(destination)
    return undefined
  }

  /** Releases the rows of destinations that became available during the read. */
  *readEnded(): Generator<Released> {
    for (const destination of this.#openedDuringRead) {
      const released = this.#parked.release(destination)
      if (released !== undefined) yield released
    }
    this.#openedDuringRead.clear()
  }

  /** Counts skipped rows anew: the next read begins at the start. */
  sweep(): void {
    this.#skippedBefore = this.#skipped
    this.#skipped = 0
  }

  /** Records that nothing is known to have been complete when rows were parked. */
  doubt(): void {
    this.#parked.doubt()
  }

  /** Returns the rows that can probe a destination; undefined if nothing waits for it here. */
  probesOf(destination: string): readonly ProbeRow[] | undefined {
    return this.#parked.probesOf(destination)
  }

  /** Whether no earlier row of its key waits. */
  isFirst(row: ProbeRow): boolean {
    return this.#parked.isFirst(row)
  }

  /** Gives the other rows their turn to probe. @param isGone the row is not in the table any more */
  turn(destination: string, row: ProbeRow, isGone: boolean): void {
    this.#parked.turn(destination, row, isGone)
  }
}
