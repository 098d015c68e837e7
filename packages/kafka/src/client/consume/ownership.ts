/**
 * The partitions that this consumer owns, from assignment to release, and the callbacks that report it.
 *
 *     assigned ──▶ feed opened, onAssigned ──▶ handed out by poll ──▶ held: onRevoking, commits ──▶ ended
 *         └────────────────┴───────────── lost: ended at once, onLost ─────────────┘
 *
 * Opening runs beside the member's loop, which must stay free to notice a lost membership. Each partition opens on its
 * own: one whose topic is gone or whose transaction is open does not delay the others. Only a partition and its
 * companion wait for each other.
 */

import type { Runtime } from '@waybill/core'
import type { DivergingEpoch } from '../../wire/api/kafka-apis.ts'
import { mayPass } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Fetcher } from '../fetch/fetcher.ts'
import type { Found } from '../fetch/log-ends.ts'
import { PartitionFeed } from '../fetch/partition-feed.ts'
import type { GroupRebalance } from '../group/group-rebalance.ts'
import type { AssignmentTable, OwnedPartition, OwnedUnit } from './assignment-table.ts'
import type { ResolvedConsumerOptions } from './consumer-options.ts'
import type { FeedOpener, Replaced } from './feed-opener.ts'
import type { PositionLossCause } from './position-loss.ts'

/** The callbacks of the application. */
export type OwnershipCallbacks = Pick<
  ResolvedConsumerOptions,
  'onOpening' | 'onAssigned' | 'onRebalance' | 'onRevoking' | 'onLost' | 'onPositionLost' | 'onPartitionFailed'
>

/** Dependencies of {@link Ownership}. */
export interface OwnershipDeps {
  readonly table: AssignmentTable
  readonly opener: FeedOpener
  readonly fetcher: Fetcher
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>
  readonly callbacks: OwnershipCallbacks
  /** Fails the whole consumer. */
  readonly fail: (error: Error) => void
}

/** Consecutive failures, some seconds, after which the application learns that a partition is blocked. */
const failuresBeforeReport = 10

/** The owned partitions of one consumer. */
export class Ownership {
  readonly #deps: OwnershipDeps
  readonly #stopped = new AbortController()

  constructor(deps: OwnershipDeps) {
    this.#deps = deps
  }

  /** Stops opening partitions. */
  stop(): void {
    this.#stopped.abort()
  }

  rebalanced(rebalance: GroupRebalance): void {
    this.#callBack(() => this.#deps.callbacks.onRebalance?.(rebalance))
  }

  assigned(partitions: readonly TopicPartition[]): void {
    void this.#openAll(this.#deps.table.add(partitions), new Map())
  }

  async revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const { table, runtime, callbacks } = this.#deps
    const endAt = runtime.clock.monotonic() + deadlineMs
    const entries = table.withCompanions(partitions)
    // Partitions that were never announced have nothing to drain.
    this.#end(entries.filter(({ announced }) => announced === undefined))
    for (const entry of entries) this.#hold(entry)
    try {
      // A poll that resolves in this turn must reach the application before onRevoking.
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
   * Starts a new assignment after the feed's topic was deleted and created again. Its offsets now mean other records,
   * and a late commit of the previous assignment would skip records of this one.
   */
  replaced(feed: PartitionFeed): void {
    const { table } = this.#deps
    const source = table.sourceOf(feed)
    const entry = table.get(feed)
    if (source === undefined || entry?.feed !== feed || entry.isLeaving) return
    this.#callBack(() => this.lost([source]))
    void this.#openAll(table.add([source]), new Map([[partitionName(feed), feed.position]]))
  }

  /**
   * Finds a new position for a stopped feed whose position the log does not have. Never rejects.
   * @param shared - what is left of a log that was cut, if that is known
   */
  async outOfRange(feed: PartitionFeed, shared?: DivergingEpoch): Promise<void> {
    const { table, opener, runtime, fetcher } = this.#deps
    const entry = table.get(feed)
    if (entry === undefined) return
    // A seek by the application ends the search too.
    const isOver = (): boolean => !table.has(entry) || !feed.isStopped
    // A position may be lost again once without a wait.
    if (feed.losses > 1 && !(await this.#pause(retryWaitMs(feed.losses - 1, runtime.random)))) return
    for (let failures = 1; !isOver(); failures++) {
      try {
        const continuesAt = await opener.newPosition(bare(feed), entry.isCompanion, shared?.endOffset)
        if (isOver()) return
        const expected = feed.position
        if (continuesAt !== null) feed.seek(continuesAt, shared?.epoch)
        this.#reportPositionLoss(feed, shared === undefined ? 'OUT_OF_RANGE' : 'LOG_CUT', expected, continuesAt)
        return fetcher.changed()
      } catch (error) {
        if (failures === failuresBeforeReport || !mayPass(error)) this.partitionFailed(feed, error as Error)
        if (!(await this.#pause(retryWaitMs(failures, runtime.random)))) return
      }
    }
  }

  /** Reports a partition that cannot be read. */
  partitionFailed(partition: TopicPartition, error: Error): void {
    const { topic, partition: index } = partition
    this.#deps.runtime.logger.error({ topic, partition: index, err: error }, 'Partition read failed')
    this.#callBack(() => this.#deps.callbacks.onPartitionFailed?.(bare(partition), error))
  }

  /** Opens partitions until all are open or released. Never rejects. */
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
        if (failures === failuresBeforeReport) this.#reportUnopened(left, opened, refused)
      } catch (error) {
        if (!mayPass(error)) return fail(error as Error)
        runtime.logger.debug({ err: error }, 'Start position lookup failed, retrying')
      }
      if (left.length > 0 && !(await this.#pause(retryWaitMs(failures, runtime.random)))) return
    }
  }

  /** Announces the opened units. Returns the units to retry. */
  #announceOpened(units: readonly OwnedUnit[], opened: Found<PartitionFeed>, replaced: Replaced): OwnedUnit[] {
    const isOpen = (unit: OwnedUnit): boolean =>
      unit.every((entry) => opened.get(partitionName(entry)) instanceof PartitionFeed)
    this.#announce(units.filter(isOpen).flat(), opened, replaced)
    return units.filter((unit) => !isOpen(unit))
  }

  /** Calls `onOpening` for each unit: one that cannot be prepared does not delay the others. */
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
        runtime.logger.debug({ err: error }, 'Partition preparation failed, retrying')
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
    const announced = this.#notifyAssigned(entries, replaced)
    for (const entry of entries) {
      const feed = opened.get(partitionName(entry)) as PartitionFeed
      entry.feed = feed
      entry.announced = announced
      this.#deps.fetcher.add(feed)
      const expected = replaced.get(partitionName(entry))
      const continuesAt = feed.isStopped ? null : feed.position
      if (expected !== undefined) this.#reportPositionLoss(feed, 'TOPIC_REPLACED', expected, continuesAt)
    }
  }

  /** Calls `onAssigned`, and hands out records only after that. Never rejects. */
  async #notifyAssigned(entries: readonly OwnedPartition[], replaced: Replaced): Promise<void> {
    await Promise.resolve() // The feeds must exist before the callback, which may seek.
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
      const isAlreadyReported = replaced.has(partitionName(entry))
      if (entry.feed.isStopped && !isAlreadyReported) this.#reportPositionLoss(entry.feed, 'NO_OFFSET', null, null)
    }
    fetcher.changed()
  }

  #reportPositionLoss(
    feed: PartitionFeed,
    cause: PositionLossCause,
    expected: bigint | null,
    continuesAt: bigint | null,
  ): void {
    const { topic, partition } = feed
    const loss = { topic, partition, cause, expected, continuesAt }
    this.#deps.runtime.logger.warn(loss, 'Partition position lost')
    this.#callBack(() => this.#deps.callbacks.onPositionLost?.(loss))
  }

  #hold(entry: OwnedPartition): void {
    entry.isLeaving = true
    if (entry.feed !== undefined) entry.feed.isHeld = true
  }

  #end(entries: readonly OwnedPartition[]): void {
    this.#deps.table.end(entries)
    for (const { feed } of entries) if (feed !== undefined) this.#deps.fetcher.remove(feed)
  }

  /** Calls back the application. An error of the callback must not interrupt the consumer. */
  #callBack(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#deps.runtime.logger.error({ err: error }, 'Callback failed')
    }
  }

  /** Waits. Resolves false if the consumer stops meanwhile. */
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
