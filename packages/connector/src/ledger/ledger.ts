/**
 * Tracks the settled offsets of a partition during one assignment. Pure: no time, no I/O, no knowledge of Kafka.
 *
 * A settled offset is below the watermark or in the set above it, and is counted exactly once. Therefore
 * position - since + |set| = ok + retried + dead + skipped + holes holds at every moment (I20). An offset without a
 * record in the log (compaction, control records) is a hole. A hole counts once the watermark passes it or a higher
 * record is settled, so the set never extends past the highest settled record, however wide the hole.
 */

import { StateError } from '@waybill/core'
import { OffsetSet } from './offset-set.ts'
import type { PositionMove } from './position-move.ts'
import { UnsettledOffsets } from './unsettled-offsets.ts'

/** The outcome of a record: handled, confirmed in a retry topic, confirmed as a dead letter, or skipped. */
export type Settlement = 'OK' | 'RETRIED' | 'DEAD' | 'SKIPPED'

/** The settled offsets by outcome, below the watermark and in the set above it. */
export interface LedgerCounts {
  readonly ok: bigint
  readonly retried: bigint
  readonly dead: bigint
  readonly skipped: bigint
  readonly holes: bigint
}

/** A snapshot of a ledger, as a commit carries it. */
export interface LedgerState {
  /** The first offset that is counted. */
  readonly since: bigint
  /** The watermark: the lowest unsettled offset. */
  readonly position: bigint
  readonly counts: LedgerCounts
  readonly settledAbove: OffsetSet
  /** The last position move by an operator, if any. */
  readonly moved?: PositionMove
}

/** The ledger of a waiting topic's partition, which is committed together with its source. */
export interface WaitingLedgerState extends LedgerState {
  /** Replays with an outcome, plus originals that had left the source before counting began. */
  readonly replaysFinished: bigint
  /** Originals that currently wait for their first outcome since they left the source or were replayed. */
  readonly waitingNow: bigint
}

/** Returns the state of a partition without settled offsets. */
export function ledgerStateAt(position: bigint): LedgerState {
  const counts = { ok: 0n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n }
  return { since: position, position, counts, settledAbove: OffsetSet.empty(position) }
}

/**
 * The ledger of one partition for one assignment. Internally, offsets are distances from the first position, because
 * numbers are cheaper than bigints.
 */
export class Ledger {
  readonly #began: LedgerState
  readonly #base: bigint
  readonly #before: OffsetSet
  readonly #unsettled = new UnsettledOffsets()
  /** Every offset below it was fetched or is a hole. */
  #reached = 0
  #highestSettled: number
  #ok = 0
  #retried = 0
  #dead = 0
  #skipped = 0
  /** Holes that count so far, and all holes seen. */
  #holes = 0
  #holesSeen = 0

  constructor(state: LedgerState) {
    this.#began = state
    this.#base = state.position
    this.#before = state.settledAbove
    this.#highestSettled = state.settledAbove.span
  }

  /** The lowest unsettled offset, which is the one to commit. */
  get watermark(): bigint {
    return this.#base + BigInt(this.#lowest())
  }

  /** The next offset to fetch. Every offset below it was fetched or is a hole. */
  get next(): bigint {
    return this.#base + BigInt(this.#reached)
  }

  /**
   * Adds a fetched record and the holes before it. Returns false if an earlier assignment settled it: drop the record.
   *
   * @throws StateError for an offset below one already fetched: an assignment reads nothing twice
   */
  fetched(offset: bigint): boolean {
    const distance = this.distanceOf(offset)
    if (distance < this.#reached) throw this.#outOfOrder(offset)
    if (distance > this.#reached) this.#reach(distance)
    this.#reached = distance + 1
    if (this.#before.hasDistance(distance)) return false
    this.#unsettled.add(distance, this.#holesSeen)
    return true
  }

  /**
   * Adds fetched records with consecutive offsets at the cost of one. Returns false, and adds nothing, if an earlier
   * assignment may have settled some of them: call {@link fetched} for each instead.
   *
   * @throws StateError as {@link fetched}
   */
  fetchedRun(first: bigint, size: number): boolean {
    const distance = this.distanceOf(first)
    if (distance < this.#reached) throw this.#outOfOrder(first)
    if (distance <= this.#before.span) return false
    if (distance > this.#reached) this.#reach(distance)
    this.#reached = distance + size
    this.#unsettled.addRun(distance, size, this.#holesSeen)
    return true
  }

  /** Adds the holes between the last fetched record and `next`: control records or compaction. */
  reached(next: bigint): void {
    const distance = this.distanceOf(next)
    if (distance > this.#reached) this.#reach(distance)
  }

  /**
   * Settles a record.
   * @throws StateError for a record that was never fetched or is already settled: counting it twice would hide a loss
   */
  settle(offset: bigint, as: Settlement): void {
    this.settleAt(this.distanceOf(offset), as)
  }

  /** Returns the distance of an offset from the first position of this ledger. */
  distanceOf(offset: bigint): number {
    return Number(offset - this.#base)
  }

  /** Settles a record by its distance. See {@link settle}. */
  settleAt(distance: number, as: Settlement): void {
    const holesBefore = this.#unsettled.settle(distance)
    if (holesBefore < 0) throw this.#notUnsettled(distance, as)
    this.#settledUpTo(distance, holesBefore, as, 1)
  }

  /**
   * Settles `size` records with consecutive offsets, starting at a distance.
   * @throws StateError as {@link settle}; in that case none is settled
   */
  settleRunAt(distance: number, size: number, as: Settlement): void {
    const holesBefore = this.#unsettled.settleRun(distance, size)
    if (holesBefore < 0) throw this.#notUnsettled(distance, as)
    this.#settledUpTo(distance + size - 1, holesBefore, as, size)
  }

  /** True while no fetched record is unsettled. */
  get hasNoUnsettled(): boolean {
    return this.#unsettled.isEmpty
  }

  /**
   * Settles consecutive offsets that are not fetched, except those that an earlier assignment settled.
   *
   * @returns how many it settled
   * @throws StateError unless everything before them is settled: the set above the watermark could not hold them
   */
  settleUnfetched(first: bigint, last: bigint, as: Settlement): number {
    const [start, end] = [this.distanceOf(first), this.distanceOf(last)]
    if (!this.hasNoUnsettled || start < this.#reached) throw this.#outOfOrder(first)
    if (start > this.#reached) this.#reach(start)
    let count = end - start + 1
    for (let distance = start; distance <= Math.min(end, this.#before.span); distance++)
      if (this.#before.hasDistance(distance)) count--
    this.#count(as, count)
    this.#reached = end + 1
    if (end > this.#highestSettled) this.#highestSettled = end
    return count
  }

  /**
   * Returns whether an offset is below the watermark or was settled by this assignment. A hole above the watermark is
   * not settled: it has no outcome, and lower records may still arrive.
   */
  isSettled(offset: bigint): boolean {
    const distance = this.distanceOf(offset)
    return distance < this.#lowest() || this.#unsettled.isSettled(distance)
  }

  state(): LedgerState {
    const { since, counts, moved } = this.#began
    const lowest = this.#lowest()
    const position = this.#base + BigInt(lowest)
    return {
      since,
      position,
      counts: {
        ok: counts.ok + BigInt(this.#ok),
        retried: counts.retried + BigInt(this.#retried),
        dead: counts.dead + BigInt(this.#dead),
        skipped: counts.skipped + BigInt(this.#skipped),
        holes: counts.holes + BigInt(this.#holes),
      },
      settledAbove: this.#settledAbove(lowest, position),
      ...(moved === undefined ? {} : { moved }),
    }
  }

  #lowest(): number {
    if (!this.#unsettled.isEmpty) return this.#unsettled.lowest
    let distance = this.#reached
    while (this.#before.hasDistance(distance)) distance++
    return distance
  }

  /** Adds the holes up to `next`. Holes within the set of the earlier assignment count immediately. */
  #reach(next: number): void {
    const { span } = this.#before
    if (this.#reached <= span) {
      const end = Math.min(next, span + 1)
      for (let distance = this.#reached; distance < end; distance++)
        if (!this.#before.hasDistance(distance)) this.#holesSeen++
      this.#holes = this.#holesSeen
      this.#reached = end
    }
    this.#holesSeen += next - this.#reached
    this.#reached = next
    this.#countHolesBelowWatermark()
  }

  #settledUpTo(distance: number, holesBefore: number, as: Settlement, count: number): void {
    this.#count(as, count)
    if (distance > this.#highestSettled) {
      this.#highestSettled = distance
      if (holesBefore > this.#holes) this.#holes = holesBefore
    }
    this.#countHolesBelowWatermark()
  }

  #countHolesBelowWatermark(): void {
    const passed = this.#unsettled.isEmpty ? this.#holesSeen : this.#unsettled.holesBeforeLowest
    if (passed > this.#holes) this.#holes = passed
  }

  #count(as: Settlement, count: number): void {
    if (as === 'OK') this.#ok += count
    else if (as === 'RETRIED') this.#retried += count
    else if (as === 'DEAD') this.#dead += count
    else this.#skipped += count
  }

  /** Returns all offsets up to the highest settled one, except unsettled ones and ones not fetched again yet. */
  #settledAbove(lowest: number, position: bigint): OffsetSet {
    const span = this.#highestSettled - lowest
    if (span <= 0) return OffsetSet.empty(position)
    const bits = new Uint8Array(Math.ceil(span / 8)).fill(0xff)
    if (span % 8 !== 0) bits[bits.length - 1] = 0xff >>> (8 - (span % 8))
    for (const distance of this.#unsettled.upTo(this.#highestSettled))
      if (distance > lowest) clear(bits, distance - lowest)
    for (let distance = Math.max(this.#reached, lowest + 1); distance <= this.#highestSettled; distance++)
      if (!this.#before.hasDistance(distance)) clear(bits, distance - lowest)
    return new OffsetSet(position, bits)
  }

  #outOfOrder(offset: bigint): StateError {
    return new StateError(`Offset ${offset} was fetched out of order: expected ${this.next} or higher.`, bug)
  }

  #notUnsettled(distance: number, as: Settlement): StateError {
    const offset = this.#base + BigInt(distance)
    return new StateError(`Cannot settle offset ${offset} as ${as}: it is already settled or was never fetched.`, bug)
  }
}

const bug = {
  impact: 'Nothing was committed; the record is delivered again.',
  hint: 'This is a bug in Waybill. Please report it.',
} as const

function clear(bits: Uint8Array, distance: number): void {
  const bit = distance - 1
  bits[bit >>> 3] = (bits[bit >>> 3] as number) & ~(1 << (bit & 7))
}
