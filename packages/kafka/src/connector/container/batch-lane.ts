/**
 * The lane of a partition whose records are delivered in batches. What waits lies here as it was handed over and becomes
 * work when it starts: a record that succeeds costs the collector one short life, and its way into the lane nothing.
 */

import type { KafkaRecord } from '../../client/types.ts'
import type { Lanes } from './lanes.ts'
import { Queue } from '../../queue.ts'
import { type Slice, Work, type WorkPlace } from './work.ts'

interface HandedOver {
  readonly records: readonly KafkaRecord[]
  readonly slice: Slice
}

/** One lane, in the order of its partition: the head, then what was put back behind it, then what never started. */
export class BatchLane implements Lanes {
  readonly #place: WorkPlace
  #head: Work | undefined
  readonly #again = new Queue<Work>()
  readonly #fresh = new Queue<HandedOver>()
  /** The first that was handed over, and which of its records is next. */
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

  /** Takes the list over. */
  push(records: readonly KafkaRecord[], slice: Slice): void {
    if (records.length === 0) return
    this.#freshRecords += records.length
    if (this.#first === undefined) this.#first = { records, slice }
    else this.#fresh.push({ records, slice })
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

  /** Starts up to `max` records together, as far as they are below `limit`; none when the head is not due. */
  takeUpTo(max: number, limit: bigint, now: number): Work[] {
    const first = this.take(now)
    if (first === undefined) return []
    const works = [first]
    while (works.length < max) {
      const next = this.#shift()
      if (next === undefined) break
      works.push(next)
    }
    // They are in order: where the last may start, all may.
    for (let last = works.at(-1); last !== undefined && last.offset >= limit; last = works.at(-1)) {
      this.#again.unshift(last)
      works.pop()
    }
    this.#isBusy = works.length > 0
    return works
  }

  done(): void {
    this.#isBusy = false
  }

  putBack(work: Work): void {
    this.#isBusy = false
    if (this.#head !== undefined) this.#again.unshift(this.#head)
    this.#head = work
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
    const { records, slice } = this.#first
    const record = records[this.#next++] as KafkaRecord
    this.#freshRecords--
    if (this.#next === records.length) {
      this.#first = this.#fresh.shift()
      this.#next = 0
    }
    return new Work(record, this.#place, slice)
  }
}
