/**
 * Fetches ahead of poll and hands out in order.
 *
 *     owned feed ──plan──▶ request to its leader ──answer──▶ same feed, same era? ──▶ buffered ──poll──▶ handed out
 *                                                      └── no: discarded; its position never moved
 *
 * A partition's error concerns that partition alone: its leader is looked up again, its position is mended, or it is
 * tried again later; the others of the same answer go on.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { FetchResponse, FetchResponsePartition } from '../../wire/api/kafka-apis.ts'
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
import type { PartitionFeed } from './partition-feed.ts'
import { PollQueue } from './poll-queue.ts'

/** Resolved options of a fetcher. */
export interface FetcherOptions extends PrefetchBounds {
  /** How long a broker may wait for data. */
  readonly maxWaitMs: number
  /** Most bytes of one partition in one answer; a larger record comes all the same. */
  readonly partitionMaxBytes: number
  readonly requestTimeoutMs: number
}

/** Asked and told what a fetcher cannot decide alone. */
export interface FetcherOwner {
  /** Asked at the moment of handing out: false while the session may have ended. */
  mayHand(): boolean
  /** The log does not have this feed's position. The feed is stopped until a seek. */
  outOfRange(feed: PartitionFeed): void
  /** The topic is another one now. The feed is stopped for good. */
  replaced(feed: PartitionFeed): void
  /** It will hardly help to try again: not authorised, damaged. It is tried again all the same; told once. */
  partitionFailed(feed: PartitionFeed, error: Error): void
}

/** Damage on a disk stays, and a replica takes over at some time. */
const damageRetryMs = 1_000

type Deps = Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>

/** One consumer's fetches. */
export class Fetcher {
  readonly #openNodes: () => Nodes
  readonly #cluster: Cluster
  readonly #runtime: Deps
  readonly #options: FetcherOptions
  readonly #owner: FetcherOwner
  /** In the order in which they are served: who was handed out last comes last. */
  readonly #feeds = new Map<string, PartitionFeed>()
  readonly #polls: PollQueue<RecordView>
  /** A connection of its own for each purpose: a broker serves one request of a connection at a time. */
  readonly #nodes = new Map<string, Nodes>()
  readonly #busy = new Map<string, number>()
  /** Feeds whose topic is gone: told once, whatever their user seeks. */
  readonly #replaced = new WeakSet<PartitionFeed>()
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
  }

  /** How long nobody has polled. */
  get idleMs(): number {
    return this.#polls.idleMs
  }

  feed(partition: TopicPartition): PartitionFeed | undefined {
    return this.#feeds.get(partitionName(partition))
  }

  add(feed: PartitionFeed): void {
    this.#feeds.set(feed.name, feed)
  }

  /** Nothing of it is handed out any more; what is on its way is discarded when it comes. */
  remove(feed: PartitionFeed): void {
    if (this.#isOurs(feed)) this.#feeds.delete(feed.name)
  }

  /** Something changed that fetching or handing out depends on: a pause ended, a position moved, the session lives. */
  changed(): void {
    this.#polls.serve()
    this.#pump()
  }

  /**
   * Up to `max` records of active feeds; waits up to `timeoutMs` for the first. The partition that was served longest ago
   * comes first, so that a full one cannot keep the others waiting.
   */
  poll(max: number, timeoutMs: number): Promise<RecordView[]> {
    const polled = this.#polls.poll(max, timeoutMs)
    this.#pump()
    return polled
  }

  /** Ends waiting polls with nothing, at once; with an error, they end with that. */
  endPolls(error?: Error): void {
    this.#polls.dismiss(error)
  }

  close(): void {
    this.#isClosed = true
    this.#retryTimer?.[Symbol.dispose]()
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
    const served: PartitionFeed[] = []
    let unpackedBytes = this.#unpackedBytes()
    for (const feed of this.#feeds.values()) {
      if (records.length >= max) break
      if (feed.bufferedRecords === 0 || !feed.isActive) continue
      // What is unpacked already goes first when there is no room for more of it: no feed but these has to wait.
      if (unpackedBytes >= this.#options.maxBytes && !feed.isUnpacked) continue
      served.push(feed)
      unpackedBytes -= feed.unpackedBytes
      try {
        feed.hand(max - records.length, records)
      } catch (error) {
        // Whatever it was, the records taken before it must reach their owner.
        this.#damaged(feed, error as Error)
      }
      unpackedBytes += feed.unpackedBytes
    }
    for (const feed of served) {
      this.#feeds.delete(feed.name)
      this.#feeds.set(feed.name, feed)
    }
    return records
  }

  /** Of feeds that may be handed out: what the others hold is taken from them when it is needed. */
  #unpackedBytes(): number {
    let bytes = 0
    for (const feed of this.#feeds.values()) if (feed.isActive) bytes += feed.unpackedBytes
    return bytes
  }

  /** Starts a fetch on every lane that has none under way and something to ask for. */
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

  /** A topic that was deleted and created again has another id, and its offsets mean other records. */
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

  /** Never rejects: a fetch that fails is a fetch that is made again. */
  async #fetch(plan: LanePlan): Promise<void> {
    const asked = new AskedPartitions(plan.feeds)
    this.#busy.set(plan.name, plan.maxBytes)
    try {
      const answer = await this.#request(plan, asked)
      if (answer.errorCode !== errorCode.NONE) throw kafkaError('Fetch', answer.errorCode)
      this.#absorbAll(answer, asked)
      // Made only where it is needed: an error with its stack trace costs more than all else of a small answer.
      if (asked.unanswered().length > 0) throw new KafkaError('The answer leaves a partition out.', 'RETRIABLE')
    } catch (error) {
      if (!this.#isClosed) this.#allFailed(asked.unanswered(), toKafkaError('Fetch', error))
    } finally {
      for (const { feed, era } of asked.unanswered()) feed.answered(era)
      this.#busy.delete(plan.name)
      this.#polls.serve()
      // At the end of the log behind whoever was handed the few records there: the next request takes longer to make than
      // these to be looked at. Elsewhere there are many, and the broker reads the next while they are looked at.
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
        // Given away, or given away and back, or sought: what was asked for is not what is wanted any more (I3).
        if (this.#isOurs(one.feed) && one.feed.era === one.era) this.#absorb(one.feed, answer, isEmpty)
      }
    }
  }

  #absorb(feed: PartitionFeed, answer: FetchResponsePartition, isWholeAnswerEmpty: boolean): void {
    switch (answer.errorCode) {
      case errorCode.NONE:
        this.#take(feed, answer, isWholeAnswerEmpty)
        return
      case errorCode.OFFSET_OUT_OF_RANGE:
        feed.isStopped = true
        feed.losses++
        this.#owner.outOfRange(feed)
        return
      default:
        this.#failed(feed, kafkaError(`Fetching ${partitionName(feed)}`, answer.errorCode))
    }
  }

  #take(feed: PartitionFeed, answer: FetchResponsePartition, isWholeAnswerEmpty: boolean): void {
    try {
      feed.take(visibleSlice(answer.records, answer.abortedTransactions, feed.fetchOffset))
    } catch (error) {
      this.#damaged(feed, error as Error)
      return
    }
    const end = feed.isolation === 'READ_COMMITTED' ? answer.lastStableOffset : answer.highWatermark
    // Less than there is may come because others filled the answer. If nothing came at all, there is nothing to be had.
    feed.isAtEnd = feed.fetchOffset >= end || isWholeAnswerEmpty
    feed.failures = 0
    feed.losses = 0
  }

  /** Bytes that cannot be read are fetched again, from the position on: nothing is skipped. */
  #damaged(feed: PartitionFeed, error: Error): void {
    const isKnown = feed.damagedAt === feed.position
    feed.damagedAt = feed.position
    feed.retryAt = this.#runtime.clock.monotonic() + damageRetryMs
    feed.rewind()
    if (!isKnown) this.#owner.partitionFailed(feed, error)
  }

  /** The leader may have moved, or its node be gone: ask again, a little later. */
  #failed(feed: PartitionFeed, error: KafkaError): void {
    const { clock, random, logger } = this.#runtime
    feed.failures++
    feed.retryAt = clock.monotonic() + retryWaitMs(feed.failures, random)
    feed.isAtEnd = false
    if (error.kind !== 'FATAL') this.#cluster.invalidateTopic(feed.topic)
    logger.debug({ topic: feed.topic, partition: feed.partition, err: error }, 'A fetch failed; asking again who leads')
    if (error.kind === 'FATAL' && feed.failures === 1) this.#owner.partitionFailed(feed, error)
  }

  #allFailed(asked: readonly Asked[], error: KafkaError): void {
    for (const { feed, era } of asked) if (this.#isOurs(feed) && feed.era === era) this.#failed(feed, error)
  }

  /** Never rejects: what cannot be learnt now is asked for again when the retry is due. */
  async #findLeaders(topics: readonly string[]): Promise<void> {
    if (this.#isFindingLeaders) return
    this.#isFindingLeaders = true
    try {
      await this.#cluster.topics(topics, this.#options.requestTimeoutMs)
    } catch (error) {
      this.#runtime.logger.debug({ topics, err: error }, 'The cluster does not say who leads; asking again')
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
