/**
 * From where new rows are read. Reading from the start each time walks over whatever the database still keeps of finished
 * rows; reading only what lies above the last row read misses the row of a transaction that commits late, since it got its
 * number before. So new rows are read in passes:
 *
 *   a pass pages upwards, each page above the last, until a page is not full;
 *   a pass begins at the floor: what was the highest row read a few seconds ago, so that late commits are found early;
 *   every so often a pass is a sweep and begins at the start: it finds what lies below the floor (a replayed row, one
 *   whose lease ran out, a very late commit).
 *
 * Pure: time is passed in, and the floor is only ever a hint.
 */

/** Transactions that commit later than this after their insert wait for a sweep. */
export const floorLagMs = 5_000
/** A sweep costs one more read; what it finds has waited for a lease or a person before. */
export const sweepEveryMs = 30_000

/** The trail keeps one mark for each slice of the lag, so it stays short. */
const slicesPerLag = 8

interface Mark {
  /** When its slice of time ends. */
  readonly until: number
  seq: bigint
}

export class NewRowScan {
  readonly #trail: Mark[] = []
  #floor: bigint | null = null
  #cursor: bigint | null = null
  #highest: bigint | null = null
  #passSince = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY
  #isPassOver = true

  /** Only rows above it are to be read now. Null: a sweep begins. */
  floorFor(nowMs: number): bigint | null {
    this.#raiseFloor(nowMs)
    if (nowMs - this.#sweptAt >= sweepEveryMs) {
      this.#sweptAt = nowMs
      this.#begin(null, nowMs)
    } else if (this.#isPassOver || this.#isLong(nowMs)) this.#begin(this.#floor, nowMs)
    return this.#cursor
  }

  /** What was read: the highest row of the page, null for an empty one, and whether the page was full. */
  read(last: bigint | null, isFull: boolean, nowMs: number): void {
    this.#isPassOver = !isFull
    if (last === null) return
    this.#cursor = last
    if (this.#highest !== null && last <= this.#highest) return
    this.#highest = last
    this.#mark(last, nowMs)
  }

  /** The next read begins at the start. */
  sweepNext(): void {
    this.#sweptAt = Number.NEGATIVE_INFINITY
  }

  #begin(cursor: bigint | null, nowMs: number): void {
    this.#cursor = cursor
    this.#passSince = nowMs
    this.#isPassOver = false
  }

  /** In a backlog no page is ever less than full. A pass that is still below the floor goes on: nothing else reads there. */
  #isLong(nowMs: number): boolean {
    const isAboveFloor = this.#cursor !== null && this.#floor !== null && this.#cursor > this.#floor
    return isAboveFloor && nowMs - this.#passSince >= floorLagMs
  }

  #mark(seq: bigint, nowMs: number): void {
    const current = this.#trail.at(-1)
    if (current !== undefined && nowMs < current.until) current.seq = seq
    else this.#trail.push({ until: nowMs + floorLagMs / slicesPerLag, seq })
  }

  #raiseFloor(nowMs: number): void {
    for (
      let oldest = this.#trail[0];
      oldest !== undefined && oldest.until + floorLagMs <= nowMs;
      oldest = this.#trail[0]
    ) {
      this.#floor = oldest.seq
      this.#trail.shift()
    }
  }
}
