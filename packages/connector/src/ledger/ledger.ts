/**
 * Which offsets of a partition are settled, while one assignment lasts. Pure: no time, no IO, no knowledge of Kafka.
 *
 * What is settled lies below the watermark or in the set above it, and every offset there is counted exactly once, so
 * that position - since + |set| = ok + retried + dead + skipped + holes at every moment (D22, I20). An offset at which
 * the log has no record (compaction, control records) is a hole. A hole counts once the watermark has passed it, or a
 * higher record is settled: so the set reaches no farther than the highest settled record, however wide the hole.
 */

import { StateError } from '@waybill/core'
import { OffsetSet } from './offset-set.ts'
import type { PositionMove } from './position-move.ts'
import { UnsettledOffsets } from './unsettled-offsets.ts'

/** How a record was settled: handled, confirmed in a retry topic, confirmed as a dead letter, or passed over. */
export type Settlement = 'OK' | 'RETRIED' | 'DEAD' | 'SKIPPED'

/** What is settled, below the watermark or in the set above it. */
export interface LedgerCounts {
  readonly ok: bigint
  readonly retried: bigint
  readonly dead: bigint
  readonly skipped: bigint
  readonly holes: bigint
}

/** A ledger at one moment: what a commit carries. */
export interface LedgerState {
  /** Where counting began. */
  readonly since: bigint
  /** The watermark: lowest offset that is not settled. */
  readonly position: bigint
  readonly counts: LedgerCounts
  readonly settledAbove: OffsetSet
  /** When an operator has moved the position. */
  readonly moved?: PositionMove
}

/** The ledger of a waiting topic's partition, which is committed beside its source (D21). */
export interface WaitingLedgerState extends LedgerState {
  /** Replays that have their outcome, and originals that had left the source when counting began. */
  readonly replaysFinished: bigint
  /** Originals that wait now for the first time since they left the source, or since their replay. */
  readonly waitingNow: bigint
}

/** The state of a partition of which nothing is settled yet. */
export function ledgerStateAt(position: bigint): LedgerState {
  const counts = { ok: 0n, retried: 0n, dead: 0n, skipped: 0n, holes: 0n }
  return { since: position, position, counts, settledAbove: OffsetSet.empty(position) }
}

/** One partition, one assignment. Offsets are distances from its first position inside: numbers are cheap. */
export class Ledger {
  readonly #began: LedgerState
  readonly #base: bigint
  readonly #before: OffsetSet
  readonly #unsettled = new UnsettledOffsets()
  /** Everything below it is known: fetched, or a hole. */
  #reached = 0
  #highestSettled: number
  #ok = 0
  #retried = 0
  #dead = 0
  #skipped = 0
  /** Those that count, and all that were seen. */
  #holes = 0
  #holesSeen = 0

  constructor(state: LedgerState) {
    this.#began = state
    this.#base = state.position
    this.#before = state.settledAbove
    this.#highestSettled = state.settledAbove.span
  }

  /** Lowest offset that is not settled: what is committed. */
  get watermark(): bigint {
    return this.#base + BigInt(this.#lowest())
  }

  /** Everything below it was fetched, or is a hole. */
  get next(): bigint {
    return this.#base + BigInt(this.#reached)
  }

  /**
   * Takes note of a fetched record, and of the holes before it. False: an earlier assignment settled it, drop it.
   *
   * @throws StateError for an offset below one that was fetched: nothing is read twice within an assignment
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
   * Takes note of fetched records that follow each other without a hole, at the price of one. False: an earlier assignment
   * may have settled some of them, nothing is noted, and each is to be asked for by itself.
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

  /** The log has nothing between the last fetched record and `next`: control records, compaction. */
  reached(next: bigint): void {
    const distance = this.distanceOf(next)
    if (distance > this.#reached) this.#reach(distance)
  }

  /** @throws StateError for a record that was never fetched or is already settled: counting it twice would hide a loss */
  settle(offset: bigint, as: Settlement): void {
    this.settleAt(this.distanceOf(offset), as)
  }

  /** How far an offset lies from where this ledger began. */
  distanceOf(offset: bigint): number {
    return Number(offset - this.#base)
  }

  /** As {@link settle}, for who has kept the distance. */
  settleAt(distance: number, as: Settlement): void {
    const holesBefore = this.#unsettled.settle(distance)
    if (holesBefore < 0) throw this.#notUnsettled(distance, as)
    this.#settledUpTo(distance, holesBefore, as, 1)
  }

  /**
   * Settles records that follow each other without a hole, from a distance on.
   * @throws StateError as {@link settle}; then none is settled
   */
  settleRunAt(distance: number, size: number, as: Settlement): void {
    const holesBefore = this.#unsettled.settleRun(distance, size)
    if (holesBefore < 0) throw this.#notUnsettled(distance, as)
    this.#settledUpTo(distance + size - 1, holesBefore, as, size)
  }

  /**
   * Settled by this assignment, or below the watermark. Not a hole above it: what it was has no outcome, and earlier ones
   * may still be to come.
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

  /** Notes the holes from what was reached up to `next`. Below the end of the earlier set they count at once. */
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

  /** Everything up to the highest settled offset, but what is not settled and what was not fetched again yet. */
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
    return new StateError(`Offset ${offset} was fetched where ${this.next} or a higher one was due.`, bug)
  }

  #notUnsettled(distance: number, as: Settlement): StateError {
    const offset = this.#base + BigInt(distance)
    return new StateError(`Offset ${offset} cannot be settled as ${as}: it was settled before, or never fetched.`, bug)
  }
}

const bug = {
  impact: 'Nothing is committed by it: the record is delivered again.',
  next: 'Please report this as a bug.',
} as const

function clear(bits: Uint8Array, distance: number): void {
  const bit = distance - 1
  bits[bit >>> 3] = (bits[bit >>> 3] as number) & ~(1 << (bit & 7))
}
