import type { KafkaRecord } from '@waybill/kafka'
import { type RecordRun, type Slice, Work, type WorkPlace } from './work.ts'

/** A run of records that were handed over together. */
export interface HandedOver extends RecordRun {
  readonly slice: Slice
}

/**
 * Records of a partition that start together, in the order of their offsets. Those that never started become works when
 * something has to be known of one of them: of a batch that succeeds, only the first does.
 */
export class Batch {
  readonly #place: WorkPlace
  readonly #made: readonly Work[]
  readonly #fresh: readonly HandedOver[]
  readonly records: readonly KafkaRecord[]
  #works: readonly Work[] | undefined

  /** @param works - before all that are fresh */
  constructor(place: WorkPlace, works: readonly Work[], fresh: readonly HandedOver[] = []) {
    this.#place = place
    this.#made = works
    this.#fresh = fresh
    const first = works.map(({ record }) => record)
    this.records = first.concat(...fresh.map(({ records }) => records))
  }

  /** The head of its lane, which is always a work. A part without records has none, and nobody asks. */
  get first(): Work {
    return this.#made[0] as Work
  }

  get size(): number {
    return this.records.length
  }

  get works(): readonly Work[] {
    return (this.#works ??= this.#made.concat(...this.#fresh.map((run) => this.#worksOf(run))))
  }

  /** Some of its works by themselves. */
  of(works: readonly Work[]): Batch {
    return new Batch(this.#place, works)
  }

  /** What its records were handed over with; one may be there several times. */
  get slices(): readonly Slice[] {
    return [...this.#made, ...this.#fresh].map(({ slice }) => slice)
  }

  /** Whether its records follow each other without a hole. They are in order, so the ends tell. */
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
