/**
 * Checks the reported status of connectors periodically: they keep their limits (I17), pause exactly what they have a
 * reason for (I15), and still hold every record fetched and not started (I14).
 */

import type { PauseReason } from '@waybill/connector'
import type { PartitionStatus } from '@waybill/connector/internal'
import type { BindingPlan } from './binding-plan.ts'
import type { CommitChecker } from './commit-checker.ts'
import type { Ground } from './ground.ts'
import type { HandlerProcess } from './handler-journal.ts'
import { placesOf } from './places.ts'
import type { RareState } from './rare-states.ts'

const pauseStates: { readonly [R in PauseReason]?: RareState } = {
  EXHAUSTED: 'pause: exhausted retries stop a partition',
  DEAD_LETTER_FAILURE: 'pause: dead letters cannot be written',
  BACKPRESSURE: 'pause: backpressure',
  WAITING_FULL: 'pause: too many wait',
}

/** Dependencies of the checker. */
type Known = Ground & { readonly commits: Pick<CommitChecker, 'hasOutcome'> }

/** See the file's comment. */
export class StatusChecker {
  readonly #world: Known
  readonly #open = new Set<string>()

  constructor(world: Known) {
    this.#world = world
  }

  /** Checks a binding, and returns the reasons that pause any of its partitions. */
  look(process: HandlerProcess, binding: BindingPlan): ReadonlySet<PauseReason> {
    const { court } = this.#world
    const view = process.connector.listBindings().find(({ name }) => name === binding.name)
    const reasons = new Set<PauseReason>()
    if (view === undefined) return reasons
    this.#lookAtBreaker(`${process.name} ${binding.name}`, view.breaker)
    for (const { place, members } of view.containers)
      for (const { partitions } of members)
        for (const status of partitions) {
          this.#checkBounds(process, binding, status)
          this.#checkPause(process, place.groupId, status)
          this.#checkFetched(process, binding, place.groupId, status)
          for (const reason of status.pausedBy) reasons.add(reason)
        }
    for (const reason of reasons) {
      const state = pauseStates[reason]
      if (state !== undefined) court.reach(state)
    }
    return reasons
  }

  #lookAtBreaker(name: string, state: 'CLOSED' | 'OPEN' | 'HALF_OPEN'): void {
    const { court } = this.#world
    if (state === 'OPEN' && !this.#open.has(name)) {
      this.#open.add(name)
      court.reach('breaker: it opens')
    }
    if (state === 'CLOSED' && this.#open.delete(name)) court.reach('breaker: it closes after it was open')
  }

  #checkPause({ name, consumerWatches }: HandlerProcess, groupId: string, status: PartitionStatus): void {
    // After an expulsion two members of a process may believe that they own it, each with its own pauses.
    const orders = consumerWatches.flatMap((watch) =>
      watch.groupId === groupId ? (watch.isInOrder(status) ?? []) : [],
    )
    if (orders.length === 0 || orders.includes(true)) return
    this.#world.court.violate(
      'I15',
      `${name}: ${status.topic}-${status.partition} is ${status.pausedBy.length > 0 ? 'fetched' : 'paused'}, and its reasons are [${status.pausedBy.join()}]`,
    )
  }

  /** I14: each fetched record is started, settled, or still held. */
  #checkFetched(
    { name, consumerWatches }: HandlerProcess,
    binding: BindingPlan,
    groupId: string,
    status: PartitionStatus,
  ): void {
    const { topic, partition, buffered, running, unconfirmed, waiting } = status
    const place = placesOf(binding).find((one) => one.topic === topic && one.groupId === groupId)
    const log = this.#world.log(topic, partition)
    if (place === undefined || log === undefined) return
    // Its log no longer exists: the outcome of its fetched records is unknown.
    if (this.#world.isUnaware(name, groupId, status) || this.#world.isUnawareOfCut(name, groupId, status)) return
    const isSettled = (offset: bigint): boolean => {
      const record = log.at(offset)
      return record !== undefined && this.#world.commits.hasOutcome(place, record)
    }
    const kept = buffered + running + unconfirmed + waiting
    // After an expulsion two members of a process may believe that they own it: one of them has what this one kept.
    const fetched = consumerWatches.flatMap((watch) => {
      const undelivered = watch.groupId === groupId ? watch.undelivered(status, isSettled) : undefined
      return undelivered === undefined ? [] : [undelivered]
    })
    const [fewest] = fetched.toSorted((one, other) => one.length - other.length)
    if (fewest !== undefined && fewest.length > kept)
      this.#world.court.violate(
        'I14',
        `${name}: of ${topic}-${partition} ${fewest.join(' ')} were fetched, and ${kept} records are left of them`,
      )
  }

  #checkBounds({ name }: HandlerProcess, { options }: BindingPlan, status: PartitionStatus): void {
    const { court } = this.#world
    const { maxBufferedRecords = 1_000, maxPollRecords = 50, maxInFlight = 64 } = options
    const { keyOrder: { maxWaitingRecords = 1_000 } = {}, maxAhead = 1_000 } = options
    const where = `${name}: ${status.topic}-${status.partition}`
    // A poll that began below the limit may end above it, one more may be in flight, and running records may be
    // rejected.
    const mostBuffered = maxBufferedRecords + 2 * maxPollRecords + maxInFlight
    if (status.buffered > mostBuffered)
      court.violate('I17', `${where} has ${status.buffered} buffered records, and ${mostBuffered} are allowed`)
    // Operators' replays wait in addition to the others.
    const mostWaiting = maxWaitingRecords + maxAhead + this.#world.program.records.length * Number(this.#hasReplays())
    if (status.waiting > mostWaiting)
      court.violate('I17', `${where} has ${status.waiting} waiting records, and ${mostWaiting} are allowed`)
  }

  #hasReplays(): boolean {
    return this.#world.program.chaos.some(({ kind }) => kind === 'REPLAY')
  }
}
