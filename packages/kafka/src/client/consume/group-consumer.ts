/**
 * A consumer: a group member that determines the owned partitions, a fetcher for their records, a committer for their
 * offsets, and the table of assignments that all three share.
 *
 *     CREATED ──start──▶ RUNNING ──stop──▶ STOPPED
 *                           └── fenced, refused, a callback threw ──▶ releases everything; poll rejects
 */

import { ArgumentError, type Runtime, StateError, type StopOptions } from '@waybill/core'
import type { KafkaTransport } from '../../wire/broker/kafka-transport.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import { checkOffset } from '../cluster/check-offset.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { GroupMetadata } from '../cluster/group-metadata.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import { createNodes, type Nodes } from '../cluster/nodes.ts'
import type { CommittedOffset, OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { Fetcher } from '../fetch/fetcher.ts'
import { CoordinatorLink } from '../group/coordinator-link.ts'
import { GroupMember } from '../group/group-member.ts'
import { AssignmentTable } from './assignment-table.ts'
import { Committer } from './committer.ts'
import type { Consumer } from './consumer.ts'
import {
  type ConsumerOptions,
  companionsOf,
  type ResolvedConsumerOptions,
  resolveConsumerOptions,
} from './consumer-options.ts'
import { FeedOpener } from './feed-opener.ts'
import { Ownership } from './ownership.ts'
import { persist } from './persist.ts'
import { PollWatch } from './poll-watch.ts'
import { fetchCommitted } from './start-offsets.ts'
import { watchTopics } from './topic-watch.ts'

/** Dependencies of a consumer. */
export interface ConsumerDeps {
  readonly transport: KafkaTransport
  readonly clientId: string
  readonly cluster: Cluster
  readonly runtime: Runtime
  /** Called when the consumer has stopped, so that its creator can drop it. */
  readonly ended?: () => void
}

/** Creates a consumer. It opens no connection yet. @throws OptionsError */
export function createGroupConsumer(deps: ConsumerDeps, options: ConsumerOptions): Consumer {
  return new GroupConsumer(deps, resolveConsumerOptions(options))
}

class GroupConsumer implements Consumer {
  readonly #runtime: Runtime
  readonly #ended: (() => void) | undefined
  readonly #cluster: Cluster
  readonly #options: ResolvedConsumerOptions
  readonly #companions: ReadonlyMap<string, string>
  readonly #table: AssignmentTable
  readonly #link: CoordinatorLink
  readonly #member: GroupMember
  readonly #offsetNodes: Nodes
  readonly #fetcher: Fetcher
  readonly #ownership: Ownership
  readonly #opener: FeedOpener
  readonly #committer: Committer
  readonly #pollWatch: PollWatch
  readonly #stopped = new AbortController()
  #failure: Error | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  constructor({ transport, clientId, cluster, runtime: given, ended }: ConsumerDeps, options: ResolvedConsumerOptions) {
    const runtime = { ...given, logger: given.logger.child({ groupId: options.groupId }) }
    const openNodes = (): Nodes => createNodes(transport, clientId, runtime)
    const instanceId = options.instanceId ?? null
    this.#runtime = runtime
    this.#ended = ended
    this.#cluster = cluster
    this.#options = options
    this.#companions = companionsOf(options)
    this.#table = new AssignmentTable(this.#companions)
    this.#offsetNodes = openNodes()
    const lanes = { JOIN: openNodes(), OFFSET: openNodes(), BEAT: openNodes() }
    this.#link = new CoordinatorLink(cluster, lanes, runtime.clock, options.groupId)
    this.#fetcher = new Fetcher(
      openNodes,
      cluster,
      runtime,
      { ...options, maxRecords: options.prefetchRecords, maxBytes: options.prefetchBytes },
      {
        mayHand: () => this.#member.isSessionAlive,
        outOfRange: (feed, shared) => void this.#ownership.outOfRange(feed, shared),
        replaced: (feed) => this.#ownership.replaced(feed),
        partitionFailed: (feed, error) => this.#ownership.partitionFailed(feed, error),
      },
    )
    this.#opener = new FeedOpener(cluster, this.#link, this.#offsetNodes, options, (offsets) =>
      this.#committer.commit(offsets),
    )
    this.#ownership = new Ownership({
      table: this.#table,
      opener: this.#opener,
      fetcher: this.#fetcher,
      runtime,
      callbacks: options,
      fail: (error) => this.#fail(error),
    })
    this.#member = new GroupMember(
      this.#link,
      cluster,
      runtime,
      { ...options, instanceId },
      {
        rebalanced: (rebalance) => this.#ownership.rebalanced(rebalance),
        assigned: (partitions) => this.#ownership.assigned(partitions),
        revoking: (partitions, deadlineMs) => this.#ownership.revoking(partitions, deadlineMs),
        lost: (partitions) => this.#ownership.lost(partitions),
        revived: () => this.#fetcher.changed(),
        failed: (error) => this.#fail(error),
      },
    )
    this.#committer = new Committer(this.#link, runtime, this.#commitGuard(instanceId), options.requestTimeoutMs)
    this.#pollWatch = new PollWatch(runtime.timers, this.#pollWatchOwner(), options.maxPollIntervalMs)
  }

  start(): Promise<void> {
    if (this.#stopping !== undefined)
      return Promise.reject(new StateError('The consumer was stopped and cannot start again. Create another one.'))
    this.#starting ??= this.#start()
    return this.#starting
  }

  stop(options: StopOptions & { readonly leave?: boolean } = {}): Promise<void> {
    // A static member keeps its place for a restart by default.
    const leave = options.leave ?? this.#options.instanceId === undefined
    this.#stopping ??= this.#stop(leave, options.deadlineMs ?? defaultStopMs)
    return this.#stopping
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  poll(maxRecords: number, timeoutMs: number): Promise<RecordView[]> {
    if (!Number.isSafeInteger(maxRecords) || maxRecords < 1 || !(timeoutMs >= 0)) {
      const given = `poll(${maxRecords}, ${timeoutMs})`
      return Promise.reject(new ArgumentError(`${given}: maxRecords must be at least 1 and timeoutMs at least 0.`))
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#starting === undefined || this.#stopping !== undefined) {
      return Promise.reject(
        new StateError('The consumer is not running. Call start() first, and do not poll after stop().'),
      )
    }
    if (this.#pollWatch.polled()) this.#member.resume()
    // Returned without an await: Ownership.revoking relies on no turn in between.
    return this.#fetcher.poll(maxRecords, timeoutMs)
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const feed = this.#fetcher.feed(partition)
      if (feed !== undefined) feed.isPaused = true
    }
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const feed = this.#fetcher.feed(partition)
      if (feed === undefined || !feed.isPaused) continue
      feed.isPaused = false
      // New records may have arrived: fetch without a wait.
      feed.isAtEnd = false
    }
    this.#fetcher.changed()
  }

  seek(partition: TopicPartition, offset: bigint): void {
    checkOffset(partition, offset)
    const feed = this.#fetcher.feed(partition)
    if (feed === undefined) throw new StateError(`Cannot seek ${partitionName(partition)}: it is not owned.`)
    feed.seek(offset)
    this.#fetcher.changed()
  }

  position(partition: TopicPartition): bigint | undefined {
    return this.#fetcher.feed(partition)?.position
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    for (const one of offsets) checkOffset(one, one.offset)
    return this.#committer.commit(offsets)
  }

  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]> {
    if (partitions.length === 0) return Promise.resolve([])
    const bounds = { signal: this.#stopped.signal, deadlineMs: this.#options.requestTimeoutMs }
    return persist(this.#runtime, bounds, async (leftMs) => {
      const found = await fetchCommitted(this.#link, partitions, leftMs)
      return partitions.map((partition) => {
        const offset = found.get(partitionName(partition))
        if (offset instanceof KafkaError) throw offset
        return offset ?? { topic: partition.topic, partition: partition.partition, offset: null, metadata: null }
      })
    })
  }

  assignment(): readonly (TopicPartition & { readonly epoch: number })[] {
    return this.#table.values().map(({ topic, partition, epoch }) => ({ topic, partition, epoch }))
  }

  groupMetadata(): GroupMetadata {
    const { memberId, generationId } = this.#member.membership
    if (generationId < 0)
      throw new KafkaError('The consumer is not a member of its group at the moment.', 'REBALANCING')
    const { groupId, instanceId } = this.#options
    const objection = (offset: OffsetCommit): string | undefined => this.#objection(offset)
    return { groupId, generationId, memberId, instanceId: instanceId ?? null, objection }
  }

  confirmMembership(): Promise<boolean> {
    return this.#member.confirm()
  }

  async #start(): Promise<void> {
    try {
      // Checked before joining, so that a wrong address or password fails start() and is not only a log line.
      await this.#cluster.refresh(this.#topics(), this.#options.requestTimeoutMs)
      this.#opener.subscribe(this.#options.topics)
    } catch (error) {
      this.#starting = undefined
      throw error
    }
    if (this.#stopping !== undefined) throw new StateError('The consumer was stopped while it was starting.')
    this.#member.start()
    this.#pollWatch.start()
    const watch = {
      cluster: this.#cluster,
      member: this.#member,
      topics: () => this.#topics(),
      refreshed: () => this.#fetcher.changed(),
      everyMs: this.#options.metadataRefreshMs,
      timeoutMs: this.#options.requestTimeoutMs,
    }
    void watchTopics(this.#runtime, watch, this.#stopped.signal)
  }

  async #stop(leave: boolean, deadlineMs: number): Promise<void> {
    this.#stopped.abort(new StateError('The consumer was stopped.'))
    this.#pollWatch[Symbol.dispose]()
    this.#ownership.stop()
    this.#fetcher.endPolls(this.#failure)
    await this.#member.stop(leave, deadlineMs)
    this.#fetcher.close()
    this.#offsetNodes.close()
    this.#ended?.()
  }

  /** Releases everything, so that other members take over. Pending and later polls reject. */
  #fail(error: Error): void {
    if (this.#failure !== undefined || this.#stopping !== undefined) return
    this.#failure = error
    this.#runtime.logger.error({ err: error }, 'Consumer failed')
    this.#stopping = this.#stop(true, defaultStopMs)
    try {
      this.#options.onFatal?.(error)
    } catch (thrown) {
      this.#runtime.logger.error({ err: thrown }, 'Callback failed')
    }
  }

  #topics(): string[] {
    return [...this.#options.topics, ...this.#companions.values()]
  }

  #commitGuard(instanceId: string | null): ConstructorParameters<typeof Committer>[2] {
    const member = this.#member
    return {
      instanceId,
      get membership() {
        return member.membership
      },
      objection: (offset) => this.#objection(offset),
      leaderEpochOf: (partition) => this.#fetcher.feed(partition)?.leaderEpoch ?? -1,
    }
  }

  #objection(offset: OffsetCommit): string | undefined {
    const owned = this.#table.get(offset)
    if (owned === undefined) return 'it is not owned any more'
    if (owned.epoch !== offset.epoch) return `it was settled in assignment ${offset.epoch}, and this is ${owned.epoch}`
    if (!this.#member.isSessionAlive) return 'no heartbeat was acknowledged for a whole session'
    return undefined
  }

  #pollWatchOwner(): ConstructorParameters<typeof PollWatch>[1] {
    const fetcher = this.#fetcher
    return {
      get idleMs() {
        return fetcher.idleMs
      },
      suspend: () => {
        const { maxPollIntervalMs } = this.#options
        this.#runtime.logger.error(
          { maxPollIntervalMs },
          'Poll interval exceeded, partitions released until the next poll',
        )
        this.#member.suspend()
      },
    }
  }
}

/** The default stop deadline, as of every service. */
const defaultStopMs = 30_000
