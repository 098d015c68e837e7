import type { KafkaRecord } from '@waybill/kafka'
import { Queue } from '@waybill/kafka/internal'
import type { HandedOver } from '../../delivery/batch.ts'
import { type Slice, Work, type WorkPlace } from '../../delivery/work.ts'

/** The part of a run that is queued, without its records. */
interface Rest {
  readonly place: WorkPlace
  readonly slice: Slice
  distance: number
  size: number
}

/**
 * Queued records that never started. Each becomes a work when it is next: thousands are queued, and the garbage collector
 * would copy the work of each of them. A record is released as soon as it has left the queue.
 */
export class FreshRecords {
  readonly #records = new Queue<KafkaRecord>()
  readonly #runs = new Queue<Rest>()

  get size(): number {
    return this.#records.size
  }

  /** @param run - is not empty */
  push({ records, distance, slice }: HandedOver, place: WorkPlace): void {
    for (const record of records) this.#records.push(record)
    this.#runs.push({ place, slice, distance, size: records.length })
  }

  shift(): Work | undefined {
    const run = this.#runs.peek()
    const record = this.#records.shift()
    if (run === undefined || record === undefined) return undefined
    if (--run.size === 0) this.#runs.shift()
    return new Work(record, run.place, run.slice, run.distance++)
  }

  clear(): void {
    this.#records.clear()
    this.#runs.clear()
  }
}
