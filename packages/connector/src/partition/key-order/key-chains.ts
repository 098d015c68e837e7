/**
 * Decides which record runs next: one lane for each key, with the queued records of the source behind the chain of
 * records that wait. Pure: no clock, no IO.
 *
 *     chain   a3 ─ a5 ─ a9     sorted by original; only its first may run, once it is due and read back
 *     queue   a12 ─ a14        runs while the chain is empty; otherwise each joins the chain
 *
 * A lane runs one record at a time. A key is blocked from the moment an entry is in its chain: that is the decision to
 * append, and not the broker's answer to it.
 *
 * A replay for another group runs beside a chain too: it has no place in the order of its key unless it is forged, which
 * its turn finds out. A forged one is put back and joins the chain.
 *
 * Nothing joins the chain while a record of the source runs. It is neither settled nor in the chain, so a commit could
 * cover the records behind it but not the record itself, and the next owner would run those first. There is a chain
 * beside such a record only if a replay arrived while it runs, or if it is a replay for another group.
 */

import { Queue } from '@waybill/kafka/internal'
import type { KeyState } from '../../api/binding-view.ts'
import { isUnverified } from '../../delivery/verify-replay.ts'
import type { Work } from '../../delivery/work.ts'
import { compareOriginals } from './original.ts'
import type { WaitingEntry } from './waiting-entry.ts'

/** A record that may be handled now, of the source or of the waiting topic. */
export interface RunStep {
  readonly kind: 'RUN'
  readonly lane: string
  readonly work: Work
  readonly entry: WaitingEntry | undefined
}

/** A record of the source that waits behind others of its key. */
export interface HoldStep {
  readonly kind: 'HOLD'
  readonly lane: string
  readonly work: Work
}

interface Lane {
  readonly id: string
  readonly queue: Queue<Work>
  readonly chain: WaitingEntry[]
  /** The kind of record that runs. */
  running: 'NOTHING' | 'SOURCE' | 'CHAIN'
}

/** The lanes and chains of one partition. An idle lane without records is removed. */
export class KeyChains {
  readonly #lanes = new Map<string, Lane>()
  /** Lanes that may have a step, in the order of their turns. */
  readonly #ready = new Set<Lane>()
  readonly #delayed = new Map<Lane, number>()
  #queued = 0
  #nextDueAt: number | undefined

  /** Records of the source that have neither started nor joined a chain. */
  get queued(): number {
    return this.#queued
  }

  /** The time to call `wake`: no record that only waits for time is due earlier. Undefined if there is none. */
  get nextDueAt(): number | undefined {
    return this.#nextDueAt
  }

  /** Queues a record of the source behind earlier ones of its key. */
  push(lane: string, work: Work): void {
    const into = this.#lane(lane)
    into.queue.push(work)
    this.#queued++
    this.#ready.add(into)
  }

  /** Adds an entry, which blocks its key from now on. */
  block(entry: WaitingEntry): void {
    const lane = this.#lane(entry.lane)
    const { chain } = lane
    let index = chain.length
    while (index > 0 && compareOriginals((chain[index - 1] as WaitingEntry).original, entry.original) > 0) index--
    chain.splice(index, 0, entry)
    this.#ready.add(lane)
  }

  /** Removes an entry. */
  unblock(entry: WaitingEntry): void {
    const lane = this.#lanes.get(entry.lane)
    const index = lane?.chain.indexOf(entry) ?? -1
    if (lane === undefined || index < 0) return
    lane.chain.splice(index, 1)
    this.#touch(lane)
  }

  /** Returns the state of a key, and how many of its records wait. A dead letter itself does not wait. */
  keyState(lane: string): KeyState {
    const chain = this.#lanes.get(lane)?.chain ?? []
    const waiting = chain.filter(({ state }) => state === 'HELD').length
    if (chain[0]?.state === 'MARKER') return { state: 'BLOCKED', waiting }
    return { state: chain.length > 0 ? 'PARKED' : 'FREE', waiting }
  }

  /** Checks a lane whose entries have changed. */
  look(lane: string): void {
    const known = this.#lanes.get(lane)
    if (known !== undefined) this.#touch(known)
  }

  /** Returns the records of the source that are the next of lanes without a chain. */
  heads(): readonly Work[] {
    const idle = [...this.#lanes.values()].filter(({ running, chain }) => running === 'NOTHING' && chain.length === 0)
    return idle.flatMap(({ queue }) => queue.peek() ?? [])
  }

  /** Finds the entry of an original, if it is the first of its chain and may run but for its due time. */
  waitingHead(offset: bigint): WaitingEntry | undefined {
    for (const { chain, running } of this.#lanes.values()) {
      const [head] = chain
      if (head?.original.offset === offset && running === 'NOTHING' && mayRun(head)) return head
    }
    return undefined
  }

  /** Returns the next step, without taking it. */
  peek(now: number): RunStep | HoldStep | undefined {
    for (const lane of this.#ready) {
      const step = stepOf(lane, now)
      if (step !== undefined) return step
      this.#ready.delete(lane)
      this.#delay(lane, now)
    }
    return undefined
  }

  /** Takes the step that `peek` returned. A lane that runs is busy until `done` or `putBack`. */
  take(step: RunStep | HoldStep): void {
    const lane = this.#lanes.get(step.lane) as Lane
    if (step.kind === 'HOLD' || step.entry === undefined) {
      lane.queue.shift()
      this.#queued--
    }
    // To the end of the queue: other keys have a turn before the next record of this one.
    this.#ready.delete(lane)
    if (step.kind === 'HOLD') this.#ready.add(lane)
    else lane.running = step.entry === undefined ? 'SOURCE' : 'CHAIN'
  }

  done(step: RunStep): void {
    const lane = this.#lanes.get(step.lane) as Lane
    lane.running = 'NOTHING'
    this.#touch(lane)
  }

  /** Makes a record the next of its lane again. */
  putBack(step: RunStep): void {
    if (step.entry === undefined) {
      this.#lane(step.lane).queue.unshift(step.work)
      this.#queued++
    }
    this.done(step)
  }

  /** Makes records ready that are due now. */
  wake(now: number): void {
    for (const [lane, dueAt] of this.#delayed) if (dueAt <= now) this.#touch(lane)
    this.#nextDueAt = undefined
    for (const dueAt of this.#delayed.values()) this.#expect(dueAt)
  }

  /** Forgets the records of the source that have not started. */
  clearQueued(): void {
    for (const lane of this.#lanes.values()) {
      lane.queue.clear()
      this.#touch(lane)
    }
    this.#queued = 0
  }

  #lane(id: string): Lane {
    let lane = this.#lanes.get(id)
    if (lane === undefined) this.#lanes.set(id, (lane = { id, queue: new Queue(), chain: [], running: 'NOTHING' }))
    return lane
  }

  #touch(lane: Lane): void {
    this.#delayed.delete(lane)
    if (lane.running !== 'NOTHING' || lane.chain.length > 0 || lane.queue.size > 0) {
      this.#ready.add(lane)
      return
    }
    this.#ready.delete(lane)
    this.#lanes.delete(lane.id)
  }

  #delay(lane: Lane, now: number): void {
    const dueAt = lane.running === 'NOTHING' ? nextDueAtOf(lane) : undefined
    if (dueAt === undefined || dueAt <= now) return
    this.#delayed.set(lane, dueAt)
    this.#expect(dueAt)
  }

  #expect(dueAt: number): void {
    if (this.#nextDueAt === undefined || dueAt < this.#nextDueAt) this.#nextDueAt = dueAt
  }
}

function stepOf(lane: Lane, now: number): RunStep | HoldStep | undefined {
  const { id, chain, queue, running } = lane
  const next = queue.peek()
  const head = chain[0]
  if (running === 'SOURCE') return undefined
  if (head !== undefined && next !== undefined && !isUnverified(next)) return { kind: 'HOLD', lane: id, work: next }
  if (running === 'CHAIN') return undefined
  if (next !== undefined && next.dueAt <= now) return { kind: 'RUN', lane: id, work: next, entry: undefined }
  if (head === undefined || !mayRun(head) || head.dueAt > now) return undefined
  return { kind: 'RUN', lane: id, work: head.work as Work, entry: head }
}

/** Returns the due time of a lane's next record; undefined if it waits for something else. */
function nextDueAtOf({ chain: [head], queue }: Lane): number | undefined {
  if (head === undefined) return queue.peek()?.dueAt
  return mayRun(head) ? head.dueAt : undefined
}

/** An entry runs only after its copy was read: then it is known to be in the log, and how often. */
function mayRun(entry: WaitingEntry): boolean {
  return entry.state === 'HELD' && entry.append === undefined && !entry.isRunning && entry.work !== undefined
}
