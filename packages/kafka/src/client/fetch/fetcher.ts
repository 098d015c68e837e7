/**
 * Fetches ahead of poll and hands out records in order.
 *
 *     owned feed ──plan──▶ request to its leader ──response──▶ same feed, same era? ──▶ buffered ──poll──▶ handed out
 *                                                         └── no: discarded; its position never moved
 *
 * A partition's error concerns that partition alone: its leader is looked up again, its position is reset, or it is
 * retried later. The other partitions of the same response continue.
 */

import type { Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { DivergingEpoch, FetchResponse, FetchResponsePartition } from '../../wire/api/kafka-apis.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import type { Cluster, Leader } from '../cluster/cluster.ts'
import { KafkaError, kafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { type Asked, AskedPartitions } from './asked-partitions.ts'
import { visibleSlice } from './committed-batches.ts'
import { type LanePlan, type PrefetchBounds, planFetches } from './fetch-plan.ts'
import type { UnpackLimits } from './open-batch.ts'
import type { PartitionFeed } from './partition-feed.ts'
import { PollQueue } from './poll-queue.ts'
import { TurnBudget } from './turn-budget.ts'

/** Resolved options of a fetcher. */
export interface FetcherOptions extends PrefetchBounds {
  /** Time that a broker may wait for data. */
  readonly maxWaitMs: number
  /** Most bytes of one partition in one response; a larger record is still returned. */
  readonly partitionMaxBytes: number
  /** Most bytes that a batch may decompress to. */
  readonly maxBatchBytes: number
  readonly requestTimeoutMs: number
}

/** The consumer or reader that a fetcher works for. */
export interface FetcherOwner {
  /** Checked when records are handed out: false while the session may have expired. */
  mayHand(): boolean
  /**
   * Called when the log does not have this feed's position, or other records before it. The feed is stopped until a seek.
   * @param shared - what the log still shares with the one that was read, if it was cut and the leader told
   */
  outOfRange(feed: PartitionFeed, shared?: DivergingEpoch): void
  /** Called when the topic was re-created. The feed is stopped permanently. */
  replaced(feed: PartitionFeed): void
  /**
   * Called once when a partition fails in a way that a retry hardly fixes, for example unauthorized, corrupt or
   * oversized: after the records before it were handed out. It is retried anyway.
   */
  partitionFailed(feed: PartitionFeed, error: Error): void
}

/**
 * Waits after a batch that cannot be read. Corruption on disk persists until another replica leads; reading, and perhaps
 * decompressing, the same bytes every second would not change it.
 */
const damageBackoff: BackoffPolicy = { initialMs: 1_000, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>

/** Fetches the records of one consumer. */
export class Fetcher {
  readonly #openNodes: () => Nodes
  readonly #cluster: Cluster
  readonly #runtime: Deps
  readonly #options: FetcherOptions
  readonly #owner: FetcherOwner
  /** Feeds in serving order: the one served last comes last. */
  readonly #feeds = new Map<string, PartitionFeed>()
  readonly #polls: PollQueue<RecordView>
  /** One connection per purpose: a broker serves one request per connection at a time. */
  readonly #nodes = new Map<string, Nodes>()
  readonly #busy = new Map<string, number>()
  /** Feeds whose topic was replaced: reported once, whatever the application seeks. */
  readonly #replaced = new WeakSet<PartitionFeed>()
  readonly #turn: TurnBudget
  readonly #unpackLimits: UnpackLimits
  #isPulling = false
  #isClosed = false
  #isFindingLeaders = false
  #retryTimer: Disposable | undefined

  constructor(openNodes: () => Nodes, cluster: Cluster, runtime: Deps, options: FetcherOptions, owner: FetcherOwner) {
    this.#openNodes = openNodes
    this.#cluster = cluster
    this.#runtime = runtime
    this.#options = options
    this.#owner = owner
    this.#polls = new PollQueue(runtime, (max) => this.#hand(max))
    this.#turn = new TurnBudget(runtime.timers, () => this.#polls.serve())
    this.#unpackLimits = { maxBatchBytes: options.maxBatchBytes, turn: this.#turn }
  }

  /** Time since the last poll; 0 while one is pending. */
  get idleMs(): number {
    return this.#polls.idleMs
  }

  feed(partition: TopicPartition): PartitionFeed | undefined {
    return this.#feeds.get(partitionName(partition))
  }

  add(feed: PartitionFeed): void {
    this.#feeds.set(feed.name, feed)
  }

  /** Removes a feed. None of its records are handed out any more, and a pending response is discarded. */
  remove(feed: PartitionFeed): void {
    if (!this.#isOurs(feed)) return
    this.#feeds.delete(feed.name)
    feed.rewind()
  }

  /** Serves polls and starts fetches after a change: a resume, a seek, a confirmed session. */
  changed(): void {
    this.#polls.serve()
    this.#pump()
  }

  /**
   * Resolves with up to `max` records of active feeds; waits up to `timeoutMs` for the first. The partition served
   * longest ago comes first, so that a busy one cannot starve the others.
   */
  poll(max: number, timeoutMs: number): Promise<RecordView[]> {
    const polled = this.#polls.poll(max, timeoutMs)
    this.#pump()
    return polled
  }

  /** Ends pending polls at once: with an empty list, or with the error if given. */
  endPolls(error?: Error): void {
    this.#polls.dismiss(error)
  }

  close(): void {
    this.#isClosed = true
    this.#retryTimer?.[Symbol.dispose]()
    for (const feed of this.#feeds.values()) feed.rewind()
    this.#feeds.clear()
    this.#polls.dismiss()
    for (const nodes of this.#nodes.values()) nodes.close()
  }

  #isOurs(feed: PartitionFeed): boolean {
    return this.#feeds.get(feed.name) === feed
  }

  #hand(max: number): RecordView[] {
    const records: RecordView[] = []
    if (this.#isClosed || !this.#owner.mayHand()) return records
    void this.#pull()
    const served: PartitionFeed[] = []
    let unpackedBytes = this.#unpackedBytes()
    for (const feed of this.#feeds.values()) {
      if (records.length >= max) break
      if (feed.bufferedRecords === 0 || !feed.isActive) continue
      // Open batches go first when there is no room for more.
      if (unpackedBytes >= this.#options.maxBytes && !feed.isOpen) continue
      served.push(feed)
      unpackedBytes -= feed.unpackedBytes
      try {
        feed.hand(max - records.length, records, this.#unpackLimits)
      } catch (error) {
        // Whatever the error, the records taken before it must be handed out.
        this.#damaged(feed, error as Error)
      }
      unpackedBytes += feed.unpackedBytes
    }
    for (const feed of served) {
      this.#feeds.delete(feed.name)
      this.#feeds.set(feed.name, feed)
    }
    // Otherwise only the next poll pulls: a slice may be one huge record, and the caller may pause the partition now.
    if (records.length === 0) void this.#pull()
    return records
  }

  /** Pulls the slices that polls found missing, one at a time. Never rejects. */
  async #pull(): Promise<void> {
    if (this.#isPulling) return
    const feed = this.#dryFeed()
    if (feed === undefined) return
    this.#isPulling = true
    await feed.pull()
    this.#isPulling = false
    if (!this.#isClosed) this.#polls.serve()
  }

  #dryFeed(): PartitionFeed | undefined {
    for (const feed of this.#feeds.values()) if (feed.isDry && feed.isActive) return feed
    return undefined
  }

  /** Counts active feeds only: the buffers of inactive ones are dropped when needed. */
  #unpackedBytes(): number {
    let bytes = 0
    for (const feed of this.#feeds.values()) if (feed.isActive) bytes += feed.unpackedBytes
    return bytes
  }

  /** Starts a fetch on every idle lane that has something to request. */
  #pump(): void {
    if (this.#isClosed) return
    this.#stopReplaced()
    let plan = this.#plan()
    if (plan.hoarding.length > 0) {
      for (const feed of plan.hoarding) feed.rewind()
      plan = this.#plan()
    }
    for (const fetch of plan.fetches) void this.#fetch(fetch)
    if (plan.leaderless.size > 0) void this.#findLeaders([...plan.leaderless])
    this.#wakeForRetries()
  }

  #plan(): ReturnType<typeof planFetches> {
    return planFetches({
      feeds: this.#feeds.values(),
      leaderOf: (feed) => this.#leaderOf(feed),
      busy: this.#busy,
      bounds: this.#options,
      nowMs: this.#runtime.clock.monotonic(),
    })
  }

  /** Stops feeds whose topic was deleted and created again: it has another id, and its offsets mean other records. */
  #stopReplaced(): void {
    for (const feed of this.#feeds.values()) {
      const topicId = this.#cluster.known(feed.topic)?.topicId
      if (topicId === undefined || topicId === feed.topicId || this.#replaced.has(feed)) continue
      this.#replaced.add(feed)
      feed.isStopped = true
      this.#owner.replaced(feed)
    }
  }

  #wakeForRetries(): void {
    this.#retryTimer?.[Symbol.dispose]()
    const nowMs = this.#runtime.clock.monotonic()
    let dueAt = Number.POSITIVE_INFINITY
    for (const { retryAt } of this.#feeds.values()) if (retryAt > nowMs && retryAt < dueAt) dueAt = retryAt
    if (dueAt === Number.POSITIVE_INFINITY) return
    this.#retryTimer = this.#runtime.timers.schedule(dueAt - nowMs, () => this.#pump())
  }

  /** Runs one fetch. Never rejects: a failed fetch is retried. */
  async #fetch(plan: LanePlan): Promise<void> {
    const asked = new AskedPartitions(plan.feeds)
    this.#busy.set(plan.name, plan.maxBytes)
    try {
      const answer = await this.#request(plan, asked)
      this.#turn.renew()
      if (answer.errorCode !== errorCode.NONE) throw kafkaError('Fetch', answer.errorCode)
      this.#absorbAll(answer, asked)
      // Created only when needed: an error with its stack trace costs more than the rest of a small response.
      if (asked.unanswered().length > 0)
        throw new KafkaError('The response does not include the partition.', 'RETRIABLE')
    } catch (error) {
      if (!this.#isClosed) this.#allFailed(asked.unanswered(), toKafkaError('Fetch', error))
    } finally {
      for (const { feed, era } of asked.unanswered()) feed.answered(era)
      this.#busy.delete(plan.name)
      this.#polls.serve()
      // At the end of the log, hand out the few records first: creating the next request takes longer than handling
      // them. Elsewhere, request first, so that the broker reads the next records meanwhile.
      if (plan.isTail) queueMicrotask(() => this.#pump())
      else this.#pump()
    }
  }

  #request({ leader, isolation, isTail, maxBytes }: LanePlan, asked: AskedPartitions): Promise<FetchResponse> {
    const { requestTimeoutMs, partitionMaxBytes } = this.#options
    const maxWaitMs = isTail ? this.#options.maxWaitMs : 0
    return this.#nodesFor(`${isolation} ${isTail}`).send(
      leader,
      'Fetch',
      {
        maxWaitMs,
        minBytes: 1,
        maxBytes,
        isolationLevel: isolation,
        sessionId: 0,
        sessionEpoch: -1,
        topics: asked.topics(partitionMaxBytes),
        forgottenTopics: [],
      },
      maxWaitMs + requestTimeoutMs,
    )
  }

  #nodesFor(purpose: string): Nodes {
    const known = this.#nodes.get(purpose)
    if (known !== undefined) return known
    const nodes = this.#openNodes()
    this.#nodes.set(purpose, nodes)
    return nodes
  }

  #absorbAll({ topics }: FetchResponse, asked: AskedPartitions): void {
    const isEmpty = topics.every(({ partitions }) => partitions.every(({ records }) => records.length === 0))
    for (const { topicId, partitions } of topics) {
      for (const answer of partitions) {
        const one = asked.take(topicId, answer.partitionIndex)
        if (one === undefined) continue
        one.feed.answered(one.era)
        // Revoked, reassigned or sought since the request: the response is no longer wanted (I3).
        if (this.#isOurs(one.feed) && one.feed.era === one.era) this.#absorb(one.feed, answer, isEmpty)
      }
    }
  }

  #absorb(feed: PartitionFeed, answer: FetchResponsePartition, isWholeAnswerEmpty: boolean): void {
    switch (answer.errorCode) {
      case errorCode.NONE:
        if (answer.divergingEpoch === undefined) this.#take(feed, answer, isWholeAnswerEmpty)
        else this.#cut(feed, answer.divergingEpoch)
        return
      case errorCode.OFFSET_OUT_OF_RANGE:
        this.#outOfRange(feed)
        return
      default:
        this.#failed(feed, kafkaError(`Fetching ${partitionName(feed)}`, answer.errorCode))
    }
  }

  /** Fetches again what another leader has instead, or reports records that were handed out and are gone. */
  #cut(feed: PartitionFeed, shared: DivergingEpoch): void {
    if (shared.endOffset < feed.position) return this.#outOfRange(feed, shared)
    feed.rewind()
    feed.leaderEpoch = shared.epoch
  }

  #outOfRange(feed: PartitionFeed, shared?: DivergingEpoch): void {
    feed.isStopped = true
    feed.losses++
    this.#owner.outOfRange(feed, shared)
  }

  #take(feed: PartitionFeed, answer: FetchResponsePartition, isWholeAnswerEmpty: boolean): void {
    try {
      feed.take(visibleSlice(answer.records, answer.abortedTransactions, feed.fetchOffset))
    } catch (error) {
      this.#damaged(feed, error as Error)
      return
    }
    const end = feed.isolation === 'READ_COMMITTED' ? answer.lastStableOffset : answer.highWatermark
    // A response may end early because other partitions filled it. If it is empty altogether, there are no records.
    feed.isAtEnd = feed.fetchOffset >= end || isWholeAnswerEmpty
    feed.failures = 0
    feed.losses = 0
  }

  /** Refetches from the position after a batch that cannot be read: nothing is skipped. */
  #damaged(feed: PartitionFeed, error: Error): void {
    const isKnown = feed.damagedAt === feed.position
    feed.damagedAt = feed.position
    feed.damages = isKnown ? feed.damages + 1 : 1
    const { clock, random } = this.#runtime
    feed.retryAt = clock.monotonic() + backoffMs(damageBackoff, feed.damages, random)
    feed.rewind()
    if (!isKnown) this.#owner.partitionFailed(feed, error)
  }

  /** Backs off and looks up the leader again, which may have moved or be down. */
  #failed(feed: PartitionFeed, error: KafkaError): void {
    const { clock, random, logger } = this.#runtime
    feed.failures++
    feed.retryAt = clock.monotonic() + retryWaitMs(feed.failures, random)
    feed.isAtEnd = false
    if (error.kind !== 'FATAL') this.#cluster.invalidateTopic(feed.topic)
    logger.debug(
      { topic: feed.topic, partition: feed.partition, err: error },
      'Fetch failed, retrying after a leader lookup',
    )
    if (error.kind === 'FATAL' && feed.failures === 1) this.#owner.partitionFailed(feed, error)
  }

  #allFailed(asked: readonly Asked[], error: KafkaError): void {
    for (const { feed, era } of asked) if (this.#isOurs(feed) && feed.era === era) this.#failed(feed, error)
  }

  /** Looks up leaders. Never rejects: a failed lookup is repeated at the next retry. */
  async #findLeaders(topics: readonly string[]): Promise<void> {
    if (this.#isFindingLeaders) return
    this.#isFindingLeaders = true
    try {
      await this.#cluster.topics(topics, this.#options.requestTimeoutMs)
    } catch (error) {
      this.#runtime.logger.debug({ topics, err: error }, 'Leader lookup failed, retrying')
    } finally {
      this.#isFindingLeaders = false
    }
    for (const feed of this.#feeds.values()) {
      if (topics.includes(feed.topic) && this.#leaderOf(feed) === undefined) this.#failed(feed, leaderless(feed))
    }
    this.#pump()
  }

  #leaderOf(feed: PartitionFeed): Leader | undefined {
    return this.#cluster.known(feed.topic)?.leaders[feed.partition] ?? undefined
  }
}

function leaderless(feed: PartitionFeed): KafkaError {
  return new KafkaError(`${partitionName(feed)} has no leader.`, 'RETRIABLE')
}
