import type { KafkaRecord } from '@waybill/kafka'
import { type RecordRun, type Slice, Work, type WorkPlace } from './work.ts'

/** Consecutive records that were handed over together. */
export interface HandedOver extends RecordRun {
  readonly slice: Slice
}

/**
 * Records of a partition that start together, in the order of their offsets. A record that never started becomes a work
 * only when its state is needed: in a batch that succeeds, only the first does.
 */
export class Batch {
  readonly #place: WorkPlace
  readonly #made: readonly Work[]
  readonly #fresh: readonly HandedOver[]
  readonly records: readonly KafkaRecord[]
  #works: readonly Work[] | undefined

  /** @param works - come before all fresh records */
  constructor(place: WorkPlace, works: readonly Work[], fresh: readonly HandedOver[] = []) {
    this.#place = place
    this.#made = works
    this.#fresh = fresh
    const first = works.map(({ record }) => record)
    this.records = first.concat(...fresh.map(({ records }) => records))
  }

  /** The head of its lane, which is always a work. Undefined in an empty batch, which is never asked. */
  get first(): Work {
    return this.#made[0] as Work
  }

  get size(): number {
    return this.records.length
  }

  get works(): readonly Work[] {
    return (this.#works ??= this.#made.concat(...this.#fresh.map((run) => this.#worksOf(run))))
  }

  /** True when an operator sent one of its records to the dead letter topic. */
  get hasCondemned(): boolean {
    return this.#made.some(({ condemned }) => condemned !== undefined)
  }

  /** Returns a batch of some of its works. */
  of(works: readonly Work[]): Batch {
    return new Batch(this.#place, works)
  }

  /** The slices of its records; one slice may occur several times. */
  get slices(): readonly Slice[] {
    return [...this.#made, ...this.#fresh].map(({ slice }) => slice)
  }

  /** True when its offsets are consecutive. They are in order, so the first and the last decide. */
  get isGapless(): boolean {
    const last = this.#fresh.at(-1)
    const lastDistance =
      last === undefined ? (this.#made.at(-1) as Work).distance : last.distance + last.records.length - 1
    return lastDistance - this.first.distance === this.size - 1
  }

  #worksOf({ records, distance, slice }: HandedOver): Work[] {
    return records.map((record, index) => new Work(record, this.#place, slice, distance + index))
  }
}
