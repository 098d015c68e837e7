/**
 * The lane of a partition whose records are delivered in batches. Records stay as they were handed over and become works
 * when they start, so that queueing a record allocates nothing.
 */

import type { KafkaRecord } from '@waybill/kafka'
import { Queue } from '@waybill/kafka/internal'
import { Batch, type HandedOver } from '../../delivery/batch.ts'
import { Work, type WorkPlace } from '../../delivery/work.ts'
import type { Lanes } from './lanes.ts'

/** One lane, in the order of its partition: the head, then records that were put back, then those that never started. */
export class BatchLane implements Lanes {
  readonly #place: WorkPlace
  #head: Work | undefined
  readonly #again = new Queue<Work>()
  readonly #fresh = new Queue<HandedOver>()
  /** The first run that was handed over, and the index of its next record. */
  #first: HandedOver | undefined
  #next = 0
  #freshRecords = 0
  #isBusy = false

  constructor(place: WorkPlace) {
    this.#place = place
  }

  get size(): number {
    return (this.#head === undefined ? 0 : 1) + this.#again.size + this.#freshRecords
  }

  /** Takes ownership of the list, which is not empty. */
  push(run: HandedOver): void {
    this.#freshRecords += run.records.length
    if (this.#first === undefined) this.#first = run
    else this.#fresh.push(run)
  }

  peek(now: number): Work | undefined {
    if (this.#isBusy) return undefined
    this.#head ??= this.#shift()
    return this.#head === undefined || this.#head.dueAt > now ? undefined : this.#head
  }

  take(now: number): Work | undefined {
    const head = this.peek(now)
    if (head === undefined) return undefined
    this.#head = undefined
    this.#isBusy = true
    return head
  }

  /**
   * Starts up to `max` records together whose distance is below `limit`. Returns none if the head is not due, or too far
   * ahead.
   */
  takeUpTo(max: number, limit: number, now: number): Batch | undefined {
    const head = this.peek(now)
    if (head === undefined || head.distance >= limit) return undefined
    this.#head = undefined
    this.#isBusy = true
    const works = [head]
    for (let next = this.#again.peek(); next !== undefined && works.length < max; next = this.#again.peek()) {
      if (next.distance >= limit) return new Batch(this.#place, works)
      works.push(this.#again.shift() as Work)
    }
    return new Batch(this.#place, works, this.#takeFresh(max - works.length, limit))
  }

  #takeFresh(max: number, limit: number): HandedOver[] {
    const taken: HandedOver[] = []
    for (let left = max; left > 0 && this.#first !== undefined; ) {
      const { records, distance, slice } = this.#first
      const from = this.#next
      const count = Math.min(left, records.length - from, limit - distance - from)
      if (count <= 0) break
      taken.push({ records: records.slice(from, from + count), distance: distance + from, slice })
      left -= count
      this.#pass(count)
    }
    return taken
  }

  done(): void {
    this.#isBusy = false
  }

  putBack(work: Work): void {
    this.#isBusy = false
    if (this.#head !== undefined) this.#again.unshift(this.#head)
    this.#head = work
  }

  heads(): readonly Work[] {
    const head = this.#head ?? this.#again.peek()
    return head === undefined ? [] : [head]
  }

  nextDueAt(): number | undefined {
    if (this.#isBusy) return undefined
    this.#head ??= this.#shift()
    return this.#head?.dueAt
  }

  clear(): void {
    this.#head = undefined
    this.#again.clear()
    this.#fresh.clear()
    this.#first = undefined
    this.#next = 0
    this.#freshRecords = 0
  }

  #shift(): Work | undefined {
    if (this.#again.size > 0) return this.#again.shift()
    if (this.#first === undefined) return undefined
    const { records, distance, slice } = this.#first
    const index = this.#next
    this.#pass(1)
    return new Work(records[index] as KafkaRecord, this.#place, slice, distance + index)
  }

  /** Takes the next records that never started. */
  #pass(count: number): void {
    this.#freshRecords -= count
    this.#next += count
    if (this.#next < (this.#first?.records.length ?? 0)) return
    this.#first = this.#fresh.shift()
    this.#next = 0
  }
}
