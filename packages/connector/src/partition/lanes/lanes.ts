/**
 * Decides which records of a partition may run in parallel. A lane runs one record at a time; an unsettled record goes
 * back to the head of its lane, so that nothing overtakes it there.
 *
 * | parallelism | lanes |
 * |---|---|
 * | PARTITION | one |
 * | KEY | one for each key; records without a key have one each |
 * | UNORDERED | one for each record |
 */

import { Queue } from '@waybill/kafka/internal'
import type { Parallelism } from '../../api/binding.ts'
import type { HandedOver } from '../../delivery/batch.ts'
import { Work, type WorkPlace } from '../../delivery/work.ts'
import { FreshRecords } from './fresh-records.ts'
import { type Turn, TurnQueue } from './turn-queue.ts'

/** The lanes of one partition. */
export interface Lanes {
  /** The number of queued records. */
  readonly size: number
  /** Returns the next record if it is due, without taking it. */
  peek(now: number): Work | undefined
  /** Takes the next record: its lane is busy until `done` or `putBack`. */
  take(now: number): Work | undefined
  /** Frees the lane for its next record. */
  done(work: Work): void
  /** Makes a record the next of its lane again. */
  putBack(work: Work): void
  /** Returns the queued records that were put back and are the next of their lanes. */
  heads(): readonly Work[]
  /** Returns the due time of the first record that only waits for time; undefined if there is none. */
  nextDueAt(): number | undefined
  /** Forgets queued records; running records keep their lanes. */
  clear(): void
}

/** Lanes whose records start one at a time. */
export interface WorkLanes extends Lanes {
  push(work: Work): void
  /** Queues records that are due. Use it or `push`, not both. */
  pushRun(run: HandedOver, place: WorkPlace): void
}

/** Creates the lanes of a partition. */
export function createLanes(parallelism: Parallelism): WorkLanes {
  switch (parallelism) {
    case 'PARTITION':
      return new SingleLane()
    case 'KEY':
      return new ManyLanes((work) => work.record.key?.toString('latin1'))
    case 'UNORDERED':
      return new ManyLanes(() => undefined)
  }
}

class SingleLane implements WorkLanes {
  readonly #fresh = new FreshRecords()
  readonly #queue = new Queue<Work>()
  /** The next record, if it was looked at. */
  #head: Work | undefined
  #isBusy = false

  get size(): number {
    return (this.#head === undefined ? 0 : 1) + this.#queue.size + this.#fresh.size
  }

  push(work: Work): void {
    this.#queue.push(work)
  }

  pushRun(run: HandedOver, place: WorkPlace): void {
    this.#fresh.push(run, place)
  }

  peek(now: number): Work | undefined {
    if (this.#isBusy) return undefined
    const head = this.#next()
    return head === undefined || head.dueAt > now ? undefined : head
  }

  take(now: number): Work | undefined {
    const head = this.peek(now)
    if (head === undefined) return undefined
    this.#isBusy = true
    this.#head = undefined
    return head
  }

  done(): void {
    this.#isBusy = false
  }

  putBack(work: Work): void {
    this.#isBusy = false
    if (this.#head !== undefined) this.#queue.unshift(this.#head)
    this.#head = work
  }

  heads(): readonly Work[] {
    const head = this.#next()
    return head === undefined ? [] : [head]
  }

  nextDueAt(): number | undefined {
    return this.#isBusy ? undefined : this.#next()?.dueAt
  }

  clear(): void {
    this.#head = undefined
    this.#queue.clear()
    this.#fresh.clear()
  }

  #next(): Work | undefined {
    return (this.#head ??= this.#queue.shift() ?? this.#fresh.shift())
  }
}

/** One lane per key or record. An idle lane without records is removed. */
class Lane implements Turn {
  readonly key: string | undefined
  readonly queue = new Queue<Work>()

  constructor(key: string | undefined, first: Work) {
    this.key = key
    this.queue.push(first)
  }

  /** The offset of its head. Only read while it has one: a lane without a record has no turn. */
  get offset(): bigint {
    return (this.queue.peek() as Work).offset
  }
}

class ManyLanes implements WorkLanes {
  readonly #keyOf: (work: Work) => string | undefined
  readonly #byKey = new Map<string, Lane>()
  readonly #laneOf = new Map<Work, Lane>()
  /** Free lanes with a due record, the lowest offset first. */
  readonly #ready = new TurnQueue<Lane>()
  readonly #delayed = new Set<Lane>()
  #size = 0

  constructor(keyOf: (work: Work) => string | undefined) {
    this.#keyOf = keyOf
  }

  get size(): number {
    return this.#size
  }

  push(work: Work): void {
    this.#size++
    const key = this.#keyOf(work)
    const known = key === undefined ? undefined : this.#byKey.get(key)
    if (known !== undefined) {
      known.queue.push(work)
      return
    }
    const lane = new Lane(key, work)
    if (key !== undefined) this.#byKey.set(key, lane)
    this.#ready.push(lane)
  }

  pushRun({ records, distance, slice }: HandedOver, place: WorkPlace): void {
    for (const [index, record] of records.entries()) this.push(new Work(record, place, slice, distance + index))
  }

  peek(now: number): Work | undefined {
    for (const lane of this.#delayed) if (isDue(lane, now)) this.#wake(lane)
    for (;;) {
      const lane = this.#ready.peek()
      if (lane === undefined) return undefined
      if (isDue(lane, now)) return lane.queue.peek()
      this.#ready.shift()
      this.#delayed.add(lane)
    }
  }

  take(now: number): Work | undefined {
    if (this.peek(now) === undefined) return undefined
    const lane = this.#ready.shift() as Lane
    const work = lane.queue.shift() as Work
    this.#laneOf.set(work, lane)
    this.#size--
    return work
  }

  done(work: Work): void {
    const lane = this.#leave(work)
    if (lane === undefined) return
    if (lane.queue.size > 0) this.#ready.comeBack(lane)
    else if (lane.key !== undefined) this.#byKey.delete(lane.key)
  }

  putBack(work: Work): void {
    const lane = this.#leave(work)
    if (lane === undefined) return
    lane.queue.unshift(work)
    this.#size++
    this.#ready.comeBack(lane)
  }

  heads(): readonly Work[] {
    return [...this.#ready.returned(), ...this.#delayed].flatMap(({ queue }) => queue.peek() ?? [])
  }

  nextDueAt(): number | undefined {
    let next: number | undefined
    for (const lane of this.#delayed) {
      const dueAt = lane.queue.peek()?.dueAt ?? Number.POSITIVE_INFINITY
      if (next === undefined || dueAt < next) next = dueAt
    }
    return next
  }

  clear(): void {
    this.#ready.clear()
    this.#delayed.clear()
    this.#byKey.clear()
    this.#size = 0
    // Running records keep their lanes: no record of the same key starts beside them.
    for (const lane of this.#laneOf.values()) {
      lane.queue.clear()
      if (lane.key !== undefined) this.#byKey.set(lane.key, lane)
    }
  }

  #wake(lane: Lane): void {
    this.#delayed.delete(lane)
    this.#ready.comeBack(lane)
  }

  #leave(work: Work): Lane | undefined {
    const lane = this.#laneOf.get(work)
    this.#laneOf.delete(work)
    return lane
  }
}

function isDue(lane: Lane, now: number): boolean {
  return (lane.queue.peek()?.dueAt ?? 0) <= now
}
