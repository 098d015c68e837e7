/**
 * What this consumer owns, from the moment the group says so until the moment it is over, and what its user is told of
 * that.
 *
 *     assigned ──▶ feed opened, onAssigned ──▶ handed out by poll ──▶ held: onRevoking, commits ──▶ ended
 *         └────────────────┴───────────── lost: ended at once, onLost ─────────────┘
 *
 * Opening runs beside the member's loop, which must stay free to notice that the place is lost, and each partition on its
 * own: one whose topic is gone or whose transaction is open does not hold up the others. Only a partition's companion is
 * waited for.
 */

import type { Runtime } from '@waybill/core'
import { mayPass } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Fetcher } from '../fetch/fetcher.ts'
import type { Found } from '../fetch/log-ends.ts'
import { PartitionFeed } from '../fetch/partition-feed.ts'
import type { AssignmentTable, OwnedPartition, OwnedUnit } from './assignment-table.ts'
import type { ResolvedConsumerOptions } from './consumer-options.ts'
import type { FeedOpener, Replaced } from './feed-opener.ts'
import type { PositionLossCause } from './position-loss.ts'

/** What is told to the user. */
export type OwnershipCallbacks = Pick<
  ResolvedConsumerOptions,
  'onOpening' | 'onAssigned' | 'onRevoking' | 'onLost' | 'onPositionLost' | 'onPartitionFailed'
>

/** What ownership stands on. */
export interface OwnershipDeps {
  readonly table: AssignmentTable
  readonly opener: FeedOpener
  readonly fetcher: Fetcher
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>
  readonly callbacks: OwnershipCallbacks
  /** The consumer cannot go on. */
  readonly fail: (error: Error) => void
}

/** After so many failures in a row, some seconds, the user is told that a partition stands still. */
const impatience = 10

/** The owned partitions of one consumer. */
export class Ownership {
  readonly #deps: OwnershipDeps
  readonly #stopped = new AbortController()

  constructor(deps: OwnershipDeps) {
    this.#deps = deps
  }

  /** Nothing is opened any more. */
  stop(): void {
    this.#stopped.abort()
  }

  assigned(partitions: readonly TopicPartition[]): void {
    void this.#openAll(this.#deps.table.add(partitions), new Map())
  }

  async revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const { table, runtime, callbacks } = this.#deps
    const endAt = runtime.clock.monotonic() + deadlineMs
    const entries = table.withCompanions(partitions)
    // Nothing was told of these, so there is nothing to drain.
    this.#end(entries.filter(({ announced }) => announced === undefined))
    for (const entry of entries) this.#hold(entry)
    try {
      // Whoever was handed records in this very turn gets them before it is asked to give the partition back.
      await runtime.timers.sleep(0)
      await Promise.all(entries.flatMap(({ announced }) => announced ?? []))
      const owned = entries.filter((entry) => table.has(entry))
      const leftMs = Math.max(0, endAt - runtime.clock.monotonic())
      if (owned.length > 0) await callbacks.onRevoking?.(owned.map(bare), leftMs)
    } finally {
      this.#end(entries)
    }
  }

  lost(partitions: readonly TopicPartition[]): void {
    const entries = this.#deps.table.withCompanions(partitions)
    this.#end(entries)
    const announced = entries.filter((entry) => entry.announced !== undefined)
    if (announced.length > 0) this.#deps.callbacks.onLost?.(announced.map(bare))
  }

  /**
   * The feed's topic was deleted and created again. What is known of its partition is about other records, so its
   * assignment ends and another begins: a late commit of the former one would skip records of this one.
   */
  replaced(feed: PartitionFeed): void {
    const { table } = this.#deps
    const source = table.sourceOf(feed)
    const entry = table.get(feed)
    if (source === undefined || entry?.feed !== feed || entry.isLeaving) return
    this.#tell(() => this.lost([source]))
    void this.#openAll(table.add([source]), new Map([[partitionName(feed), feed.position]]))
  }

  /** The log does not have the feed's position, and it is stopped. Never rejects. */
  async outOfRange(feed: PartitionFeed): Promise<void> {
    const { table, opener, runtime, fetcher } = this.#deps
    const entry = table.get(feed)
    if (entry === undefined) return
    // Also over once the user has sought: then it knows where to go on.
    const isOver = (): boolean => !table.has(entry) || !feed.isStopped
    // The position that was found is gone again. That may happen once.
    if (feed.losses > 1 && !(await this.#pause(retryWaitMs(feed.losses - 1, runtime.random)))) return
    for (let failures = 1; !isOver(); failures++) {
      try {
        const continuesAt = await opener.newPosition(bare(feed), entry.isCompanion)
        if (isOver()) return
        const expected = feed.position
        if (continuesAt !== null) feed.seek(continuesAt)
        this.#tellLoss(feed, 'OUT_OF_RANGE', expected, continuesAt)
        return fetcher.changed()
      } catch (error) {
        if (failures === impatience || !mayPass(error)) this.partitionFailed(feed, error as Error)
        if (!(await this.#pause(retryWaitMs(failures, runtime.random)))) return
      }
    }
  }

  /** Tells of a partition that cannot be read. */
  partitionFailed(partition: TopicPartition, error: Error): void {
    const { topic, partition: index } = partition
    this.#deps.runtime.logger.error({ topic, partition: index, err: error }, 'A partition cannot be read')
    this.#tell(() => this.#deps.callbacks.onPartitionFailed?.(bare(partition), error))
  }

  /** Never rejects. It ends when all are open or over. */
  async #openAll(units: readonly OwnedUnit[], replaced: Replaced): Promise<void> {
    const { table, opener, runtime, fail } = this.#deps
    const isOwned = (unit: OwnedUnit): boolean => unit.every((entry) => table.has(entry))
    let left = units
    for (let failures = 1; left.length > 0; failures++) {
      try {
        const { ready, refused } = await this.#prepare(left)
        const opened = ready.length === 0 ? new Map() : await opener.open(ready.flat(), replaced)
        const unopened = this.#announceOpened(ready.filter(isOwned), opened, replaced)
        left = [...unopened, ...Array.from(refused.keys()).filter(isOwned)]
        if (failures === impatience) this.#reportUnopened(left, opened, refused)
      } catch (error) {
        if (!mayPass(error)) return fail(error as Error)
        runtime.logger.debug({ err: error }, 'Finding out where partitions begin failed; trying again')
      }
      if (left.length > 0 && !(await this.#pause(retryWaitMs(failures, runtime.random)))) return
    }
  }

  /** Answers the units that have to be tried again. */
  #announceOpened(units: readonly OwnedUnit[], opened: Found<PartitionFeed>, replaced: Replaced): OwnedUnit[] {
    const isOpen = (unit: OwnedUnit): boolean =>
      unit.every((entry) => opened.get(partitionName(entry)) instanceof PartitionFeed)
    this.#announce(units.filter(isOpen).flat(), opened, replaced)
    return units.filter((unit) => !isOpen(unit))
  }

  /** Each unit by itself: one that cannot be prepared does not hold up the others. */
  async #prepare(
    units: readonly OwnedUnit[],
  ): Promise<{ readonly ready: readonly OwnedUnit[]; readonly refused: ReadonlyMap<OwnedUnit, Error> }> {
    const { callbacks, runtime } = this.#deps
    if (callbacks.onOpening === undefined) return { ready: units, refused: new Map() }
    const refused = new Map<OwnedUnit, Error>()
    const prepare = async (unit: OwnedUnit): Promise<void> => {
      try {
        await callbacks.onOpening?.(unit.map(bare))
      } catch (error) {
        runtime.logger.debug({ err: error }, 'Preparing a partition failed; trying again')
        refused.set(unit, error as Error)
      }
    }
    await Promise.all(units.map(prepare))
    return { ready: units.filter((unit) => !refused.has(unit)), refused }
  }

  #reportUnopened(
    units: readonly OwnedUnit[],
    opened: Found<PartitionFeed>,
    refused: ReadonlyMap<OwnedUnit, Error>,
  ): void {
    for (const unit of units)
      for (const entry of unit) {
        const error = refused.get(unit) ?? opened.get(partitionName(entry))
        if (error instanceof Error) this.partitionFailed(entry, error)
      }
  }

  #announce(entries: readonly OwnedPartition[], opened: Found<PartitionFeed>, replaced: Replaced): void {
    if (entries.length === 0) return
    const announced = this.#tellAssigned(entries, replaced)
    for (const entry of entries) {
      const feed = opened.get(partitionName(entry)) as PartitionFeed
      entry.feed = feed
      entry.announced = announced
      this.#deps.fetcher.add(feed)
      const expected = replaced.get(partitionName(entry))
      const continuesAt = feed.isStopped ? null : feed.position
      if (expected !== undefined) this.#tellLoss(feed, 'TOPIC_REPLACED', expected, continuesAt)
    }
  }

  /** Never rejects. Only then is something of them handed out. */
  async #tellAssigned(entries: readonly OwnedPartition[], replaced: Replaced): Promise<void> {
    await Promise.resolve() // The feeds are there when the user is told, so that it may seek.
    const { table, callbacks, fetcher, fail } = this.#deps
    try {
      await callbacks.onAssigned?.(entries.map(bare), entries[0]?.epoch ?? 0)
    } catch (error) {
      fail(error as Error)
      return
    }
    for (const entry of entries) {
      if (!table.has(entry) || entry.isLeaving || entry.feed === undefined) continue
      entry.feed.isHeld = false
      const isToldAlready = replaced.has(partitionName(entry))
      if (entry.feed.isStopped && !isToldAlready) this.#tellLoss(entry.feed, 'NO_OFFSET', null, null)
    }
    fetcher.changed()
  }

  #tellLoss(feed: PartitionFeed, cause: PositionLossCause, expected: bigint | null, continuesAt: bigint | null): void {
    const { topic, partition } = feed
    const loss = { topic, partition, cause, expected, continuesAt }
    this.#deps.runtime.logger.warn(loss, 'A partition does not go on where it was')
    this.#tell(() => this.#deps.callbacks.onPositionLost?.(loss))
  }

  #hold(entry: OwnedPartition): void {
    entry.isLeaving = true
    if (entry.feed !== undefined) entry.feed.isHeld = true
  }

  #end(entries: readonly OwnedPartition[]): void {
    this.#deps.table.end(entries)
    for (const { feed } of entries) if (feed !== undefined) this.#deps.fetcher.remove(feed)
  }

  /** What a user's callback throws is the user's: it must not stop what was under way here. */
  #tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#deps.runtime.logger.error({ err: error }, 'A callback threw')
    }
  }

  /** False when everything is over meanwhile. */
  async #pause(ms: number): Promise<boolean> {
    try {
      await this.#deps.runtime.timers.sleep(ms, this.#stopped.signal)
      return true
    } catch {
      return false
    }
  }
}

function bare({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition }
}
