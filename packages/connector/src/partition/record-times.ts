/**
 * The timestamps of fetched records, from which the age of the lowest unsettled one is derived. Up to 16 of a poll are kept,
 * so that a poll costs little; the result may be the timestamp of a record shortly before.
 */

import type { KafkaRecord } from '@waybill/kafka'

/** The maximum number of samples per poll. */
const samplesPerPoll = 16
/** The maximum number of samples per partition. Above it every second one is dropped. */
const mostSamples = 1_024

interface Sample {
  readonly offset: bigint
  readonly timestamp: number
}

/** See the file's comment. */
export class RecordTimes {
  #samples: Sample[] = []
  #next = -1n

  /** Adds the records of a poll, which are above all earlier ones. */
  fetched(records: readonly KafkaRecord[]): void {
    const last = records.at(-1)
    if (last === undefined) return
    this.#next = last.offset + 1n
    const step = Math.ceil(records.length / samplesPerPoll)
    for (let index = 0; index < records.length; index += step) {
      const { offset, timestamp } = records[index] as KafkaRecord
      this.#samples.push({ offset, timestamp })
    }
    if (this.#samples.length > mostSamples) this.#samples = this.#samples.filter((_, index) => index % 2 === 0)
  }

  /**
   * Returns the timestamp of the record at an offset, or of one shortly before it; undefined if no record from there on
   * was fetched, or it has no timestamp. Forgets the records before it.
   */
  at(offset: bigint): number | undefined {
    if (offset >= this.#next) {
      this.#samples = []
      return undefined
    }
    const after = this.#samples.findIndex((sample) => sample.offset > offset)
    const first = (after < 0 ? this.#samples.length : after) - 1
    if (first > 0) this.#samples.splice(0, first)
    const timestamp = this.#samples[0]?.timestamp
    return timestamp === undefined || timestamp < 0 ? undefined : timestamp
  }

  /** Forgets all records: those of a log that was cut. */
  clear(): void {
    this.#samples = []
    this.#next = -1n
  }
}
