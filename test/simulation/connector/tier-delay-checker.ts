/**
 * I12, its other half: a due record of a tier does not stay idle. Legitimate reasons are sampled: its partition has no
 * owner, a handler runs, a write is unconfirmed, something is paused for a reason, or faults continue.
 */

import type { ContainerStatus, PartitionStatus } from '@waybill/connector/internal'
import type { CommitChecker } from './commit-checker.ts'
import type { Ground } from './ground.ts'
import type { HandlerProcess } from './handler-journal.ts'
import { type Place, placesOf } from './places.ts'
import { headerNumber, type TopicLog } from './topic-log.ts'

/** Time for fetching, polling and committing without faults. */
const patienceMs = 3_000
/** Sessions, requests and backoffs from before the last fault are over by then. */
const recoveryMs = 30_000

/** Dependencies of the checker. */
type Known = Ground & {
  readonly commits: Pick<CommitChecker, 'last'>
  readonly healedAt: number | undefined
  now(): number
}

/** See the file's comment. */
export class TierDelayChecker {
  readonly #world: Known
  /** Since when a record is due without a reason to wait, by group and place. */
  readonly #idleSince = new Map<string, { readonly offset: bigint; readonly at: number }>()

  constructor(world: Known) {
    this.#world = world
  }

  look(processes: readonly HandlerProcess[]): void {
    const { program, jumps } = this.#world
    // After a change of the wall clock, due times mean other moments.
    if (jumps > 0 || !this.#isQuiet()) return this.#idleSince.clear()
    for (const place of program.bindings.flatMap(placesOf))
      if (place.kind === 'TIER')
        for (const log of this.#world.logs.values()) if (log.topic === place.topic) this.#check(place, log, processes)
  }

  #isQuiet(): boolean {
    const { program, healedAt } = this.#world
    return program.isCalm || (healedAt !== undefined && this.#world.now() > healedAt + recoveryMs)
  }

  #check(place: Place, log: TopicLog, processes: readonly HandlerProcess[]): void {
    const { runtime, commits, court } = this.#world
    const { topic, partition } = log
    const name = `${place.groupId} ${topic}-${partition}`
    const offset = commits.last(place.groupId, topic, partition)?.offset ?? 0n
    const record = log.at(offset)
    const { delayMs = 0 } = place.binding.options.retry?.tiers?.[place.tier - 1] ?? {}
    const dueMs = record === undefined ? 0 : headerNumber(record, 'x-eventbus-retry-timestamp') + delayMs
    if (record === undefined || dueMs > runtime.clock.now() || this.#isKept(place, partition, processes)) {
      this.#idleSince.delete(name)
      return
    }
    const before = this.#idleSince.get(name)
    const now = this.#world.now()
    if (before?.offset !== offset) this.#idleSince.set(name, { offset, at: now })
    else if (now - before.at > patienceMs)
      court.violate('I12', `${name}@${offset} was due ${runtime.clock.now() - dueMs} ms ago and has no reason to wait`)
  }

  /** Returns true when something explains why the partition makes no progress. */
  #isKept({ binding, topic }: Place, partition: number, processes: readonly HandlerProcess[]): boolean {
    const owners = processes.flatMap((process) => {
      const view = process.connector.listBindings().find(({ name }) => name === binding.name)
      return (view?.containers ?? []).flatMap((container) =>
        partitionsOf(container)
          .filter((status) => status.topic === topic && status.partition === partition)
          .map((status) => ({ status, isBusy: isBusy(view?.containers ?? []) })),
      )
    })
    return owners.length !== 1 || owners.some(({ status, isBusy: isTaken }) => isTaken || isHeld(status))
  }
}

function partitionsOf({ members }: ContainerStatus): readonly PartitionStatus[] {
  return members.flatMap(({ partitions }) => partitions)
}

/** Returns true when a handler runs: handlers share the slots of their binding. */
function isBusy(containers: readonly ContainerStatus[]): boolean {
  return containers.flatMap(partitionsOf).some(({ running }) => running > 0)
}

function isHeld({ pausedBy, unconfirmed }: PartitionStatus): boolean {
  return unconfirmed > 0 || pausedBy.some((reason) => reason !== 'DELAY' && reason !== 'BACKPRESSURE')
}
