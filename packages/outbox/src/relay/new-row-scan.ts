/**
 * From where new rows are read. Reading from the start each time walks over whatever the database still keeps of finished
 * rows, which is all of them while anybody holds a snapshot open; reading only what lies above the last row read misses the
 * row of a transaction that commits late, since it got its number before. So new rows are read in passes, each of which
 * pages upwards until a page is not full, and the further back one begins, the more seldom it comes:
 *
 *   mostly a pass begins at what was the highest row a moment ago: it finds commits as late as transactions mostly are;
 *   every second it begins at what was the highest a few seconds ago;
 *   every half minute it is a sweep and begins at the start: it finds whatever lies below (a replayed row, one whose lease
 *   ran out, a very late commit).
 *
 * So a finished row is walked over a bounded number of times, except by sweeps. These come less often when they take long.
 *
 * Pure: time is passed in, and a floor is only ever a hint.
 */

import { LaggingFloor } from './lagging-floor.ts'

/** Transactions that commit no later than this after their insert are found by the next look. */
export const nearLagMs = 100
/** Transactions that commit later than this after their insert wait for a sweep. */
export const farLagMs = 5_000
/** How long those in between wait at most. */
export const farLookEveryMs = 1_000
/** A sweep costs one more read; what it finds has waited for a lease or a person before. */
export const sweepEveryMs = 30_000

/** While the database keeps finished rows for hours, sweeps get a twentieth of the time; but they do come. */
const pausePerSweep = 20
const longestSweepEveryMs = 300_000

export class NewRowScan {
  readonly #near = new LaggingFloor(nearLagMs)
  readonly #far = new LaggingFloor(farLagMs)
  #cursor: bigint | null = null
  #highest: bigint | null = null
  #passSince = Number.NEGATIVE_INFINITY
  #readSince = Number.NEGATIVE_INFINITY
  #farLookedAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY
  #sweepEveryMs = sweepEveryMs
  #isSweepBeginning = false
  #isPassOver = true

  /** Only rows above it are to be read now. Null: from the start. */
  floorFor(nowMs: number): bigint | null {
    const far = this.#far.at(nowMs)
    this.#readSince = nowMs
    if (nowMs - this.#sweptAt >= this.#sweepEveryMs) {
      this.#sweptAt = nowMs
      this.#isSweepBeginning = true
      this.#begin(null, nowMs)
    } else if (this.#isPassOver || this.#isLong(far, nowMs)) this.#begin(this.#nextFloor(far, nowMs), nowMs)
    return this.#cursor
  }

  /** What was read: the highest row of the page, null for an empty one, and whether the page was full. */
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

  /** The next read begins at the start. */
  sweepNext(): void {
    this.#sweptAt = Number.NEGATIVE_INFINITY
  }

  #begin(cursor: bigint | null, nowMs: number): void {
    this.#cursor = cursor
    this.#passSince = nowMs
    this.#isPassOver = false
  }

  #nextFloor(far: bigint | null, nowMs: number): bigint | null {
    if (nowMs - this.#farLookedAt < farLookEveryMs) return this.#near.at(nowMs)
    this.#farLookedAt = nowMs
    return far
  }

  /** In a backlog no page is ever less than full. A pass that is still below the floor goes on: nothing else reads there. */
  #isLong(far: bigint | null, nowMs: number): boolean {
    const isAboveFloor = this.#cursor !== null && far !== null && this.#cursor > far
    return isAboveFloor && nowMs - this.#passSince >= farLagMs
  }

  /** Its first page is the long one: it walks over all that is finished before it finds anything. */
  #sweepBegan(tookMs: number): void {
    this.#isSweepBeginning = false
    this.#sweepEveryMs = Math.min(longestSweepEveryMs, Math.max(sweepEveryMs, tookMs * pausePerSweep))
  }
}
