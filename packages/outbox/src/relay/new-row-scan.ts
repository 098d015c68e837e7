/**
 * Decides where the scan for new rows begins. Scanning from the start each time walks over dead tuples of settled rows,
 * which is all of them while any snapshot is open. Scanning only above the last row read misses the row of a
 * transaction that commits late, since its number was assigned before. So new rows are read in passes that page
 * upward until a page is not full, and the further back a pass begins, the rarer it is:
 *
 *   most passes begin at the highest row of a moment ago: they find commits as late as transactions usually are;
 *   every second one begins at the highest row of a few seconds ago;
 *   every half minute a sweep begins at the start: it finds whatever lies below (a replayed row, an expired lease, a
 *   very late commit).
 *
 * So a settled row is walked over a bounded number of times, except by sweeps, which are rarer when they take long.
 *
 * Pure: time is passed in, and a floor is only ever a hint.
 */

import { LaggingFloor } from './lagging-floor.ts'

/** A poll finds every committed row that was inserted within this time before it. */
export const nearLagMs = 100
/** Transactions that commit later than this after their insert wait for a sweep. */
export const farLagMs = 5_000
/** The maximum wait of those in between. */
export const farPassEveryMs = 1_000
/** A sweep costs one more read; the rows it finds have waited for a lease or an operator before. */
export const sweepEveryMs = 30_000

/**
 * While the database keeps dead tuples for hours, sweeps get at most a twentieth of the time, up to the longest
 * interval.
 */
const pausePerSweep = 20
const longestSweepEveryMs = 300_000
/** A sweep reads every row that waits for an unavailable destination, so many of them make it rarer. */
const pausePerPassedOverMs = 10

export class NewRowScan {
  readonly #near = new LaggingFloor(nearLagMs)
  /** A row that is committed just after a pass is still above the floor of the next one. */
  readonly #far = new LaggingFloor(farLagMs + farPassEveryMs)
  #cursor: bigint | null = null
  #highest: bigint | null = null
  #passSince = Number.NEGATIVE_INFINITY
  #readSince = Number.NEGATIVE_INFINITY
  #farPassAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY
  #sweepEveryMs = sweepEveryMs
  #isSweepBeginning = false
  #isPassOver = true
  /** Rows that wait for unavailable destinations, in the current or last sweep. */
  #passedOver = 0

  /** Returns the floor of the next read: only rows above it. Null: from the start. */
  floorFor(nowMs: number): bigint | null {
    const far = this.#far.at(nowMs)
    this.#readSince = nowMs
    if (nowMs - this.#sweptAt >= this.#pauseOfSweeps) {
      this.#sweptAt = nowMs
      this.#passedOver = 0
      this.#isSweepBeginning = true
      this.#begin(null, nowMs)
    } else if (this.#isPassOver || this.#isLong(far, nowMs)) this.#begin(this.#nextFloor(far, nowMs), nowMs)
    return this.#cursor
  }

  /** Records a read: the highest row of the page, null for an empty one, and whether the page was full. */
  read(last: bigint | null, isFull: boolean, nowMs: number): void {
    this.#isPassOver = !isFull
    if (this.#isSweepBeginning) this.#sweepBegan(nowMs - this.#readSince)
    if (last === null) return
    this.#cursor = last
    if (this.#highest !== null && last <= this.#highest) return
    this.#highest = last
    this.#near.mark(last, nowMs)
    this.#far.mark(last, nowMs)
  }

  /** Makes the next read begin at the start. */
  sweepNext(): void {
    this.#sweptAt = Number.NEGATIVE_INFINITY
  }

  /** Records rows of the last read that wait for unavailable destinations. */
  passedOver(rows: number): void {
    this.#passedOver += rows
  }

  get #pauseOfSweeps(): number {
    return Math.max(this.#sweepEveryMs, Math.min(longestSweepEveryMs, this.#passedOver * pausePerPassedOverMs))
  }

  #begin(cursor: bigint | null, nowMs: number): void {
    this.#cursor = cursor
    this.#passSince = nowMs
    this.#isPassOver = false
  }

  #nextFloor(far: bigint | null, nowMs: number): bigint | null {
    if (nowMs - this.#farPassAt < farPassEveryMs) return this.#near.at(nowMs)
    this.#farPassAt = nowMs
    return far
  }

  /**
   * Whether the pass runs too long, since in a backlog every page is full. Below the floor it continues: no other pass
   * reads there.
   */
  #isLong(far: bigint | null, nowMs: number): boolean {
    const isAboveFloor = this.#cursor !== null && far !== null && this.#cursor > far
    return isAboveFloor && nowMs - this.#passSince >= farLagMs
  }

  /**
   * Adapts the interval to the sweep's first page, the long one: it walks over all dead tuples before it finds a row.
   */
  #sweepBegan(tookMs: number): void {
    this.#isSweepBeginning = false
    this.#sweepEveryMs = Math.min(longestSweepEveryMs, Math.max(sweepEveryMs, tookMs * pausePerSweep))
  }
}
