/**
 * Brings the records of all partitions to their leaders. The decisions are elsewhere (partition-sender, accumulator,
 * topic-route); here are the requests, the waits and the bounds.
 *
 * A pass looks at every partition that has records and nothing in flight, and puts those that are due into one request
 * for each leader: 64 partitions make one request, not 64. A partition whose last attempt failed travels apart from the
 * others, so that these need not wait for it. A pass runs when a record, an answer, metadata or a wait asks for it, and
 * after the code that asked has come to its end: what is sent in one turn travels together.
 */

import type { Leader } from '../cluster/cluster.ts'
import { type KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { Admission } from './admission.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import { LeaderFinder } from './leader-finder.ts'
import type { AttemptResult, PartitionSender, SenderContext } from './partition-sender.ts'
import { PendingRecord } from './pending-record.ts'
import { mayBeMisled } from './produce-answer.ts'
import { type Attempt, attemptResults, produceRequest } from './produce-request.ts'
import type { OutRecord, SendOptions, SendResult } from './producer.ts'
import type { ProducerIdentity } from './producer-identity.ts'
import type { ResolvedProducerOptions } from './producer-options.ts'
import { lateError, takenBackError, tooLargeError } from './send-error.ts'
import { SignalWatch } from './signal-watch.ts'
import { TopicRoute } from './topic-route.ts'

/** Where identities come from, and what a failure means for those behind it. */
export interface SendPolicy {
  /** Set when batches belong to a transaction. */
  readonly transactionalId: string | null
  /** See {@link SenderContext.raisesEpoch}. */
  readonly raisesEpoch: boolean
  /** For a partition that has none; null while there is none, and `wake` is called when there is. */
  identity(): ProducerIdentity | null
  /** This producer id can be used no longer. */
  spent(identity: ProducerIdentity): void
  /** Whether this partition may be written to now; otherwise `wake` is called when it may. */
  admits(sender: PartitionSender): boolean
  /** Why there is no identity. */
  readonly trouble: KafkaError | undefined
  /** Callers were told that records of this partition failed, or are unknown. Those behind are still there. */
  failed(error: KafkaError, sender: PartitionSender): void
}

interface Request {
  readonly leader: Leader
  readonly attempts: Attempt[]
  bytes: number
}

interface Flush {
  readonly upTo: number
  remaining: number
  readonly done: () => void
}

/**
 * Of the time a request may take, the broker may spend this share waiting for its replicas. It then says so itself, and
 * the connection with everything behind on it survives.
 */
const replicaShare = 0.7

/** As other clients have it: partitions are added once in months, and consumers need not see it sooner. */
const lookAgainMs = 300_000

/** Sends records and tells their callers what became of them. */
export class SendLoop {
  readonly #deps: ProducerDeps
  readonly #options: ResolvedProducerOptions
  readonly #policy: SendPolicy
  readonly #context: SenderContext
  readonly #admission: Admission
  readonly #leaders: LeaderFinder
  readonly #signals: SignalWatch<PendingRecord>
  readonly #routes: Map<string, TopicRoute> = new Map()
  /** Partitions with records and nothing in flight, the longest waiting first. */
  readonly #waiting: Set<PartitionSender> = new Set()
  readonly #requestsTo: Map<number, number> = new Map()
  readonly #stopping: AbortController = new AbortController()
  #flushes: Flush[] = []
  #ordinal = 0
  #outstanding = 0
  #inFlight = 0
  #whenQuiet: (() => void)[] = []
  #halted: KafkaError | null = null
  #isPassDue = false
  #wakeAt: number = Number.POSITIVE_INFINITY
  #expiry: Disposable | null = null

  constructor(deps: ProducerDeps, options: ResolvedProducerOptions, policy: SendPolicy) {
    this.#deps = deps
    this.#options = options
    this.#policy = policy
    this.#admission = new Admission(options.maxBufferedBytes)
    this.#signals = new SignalWatch(deps.runtime, (record, why) => this.#giveUp(record, why))
    this.#context = {
      options,
      random: deps.runtime.random,
      isTransactional: policy.transactionalId !== null,
      raisesEpoch: policy.raisesEpoch,
      settled: (record) => {
        this.#admission.release(record)
        this.#settled(record)
      },
      spent: (identity) => policy.spent(identity),
      failed: (error, sender) => policy.failed(error, sender),
    }
    const news = {
      answered: (route: TopicRoute) => this.#answered(route),
      refused: (route: TopicRoute, senders: readonly PartitionSender[], error: KafkaError) =>
        this.#refused(route, senders, error),
    }
    this.#leaders = new LeaderFinder(deps.cluster, deps.runtime, options, news, this.#stopping.signal)
  }

  /** Resolves when the record is in the log. */
  send(record: OutRecord, options?: SendOptions): Promise<SendResult> {
    if (this.#halted !== null) return Promise.reject(this.#halted)
    let pending: PendingRecord
    try {
      const { clock } = this.#deps.runtime
      pending = new PendingRecord(record, clock.now(), clock.monotonic(), this.#ordinal + 1)
    } catch (error) {
      return Promise.reject(error) // A record that is none, or headers that cannot be read.
    }
    const { maxRecordBytes } = this.#options
    if (pending.bytes > maxRecordBytes)
      return Promise.reject(tooLargeError(pending.topic, pending.bytes, maxRecordBytes))
    this.#ordinal++
    this.#outstanding++
    this.#watch(pending.sentAt)
    if (options !== undefined) this.#signals.add(pending, options, pending.sentAt)
    if (this.#admission.admit(pending)) this.#place(pending)
    // Somebody waits for space: what lingers has to go.
    else this.wake()
    return pending.result
  }

  get isIdle(): boolean {
    return this.#outstanding === 0
  }

  /** Ends waits when the producer ends. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Resolves when nothing sent so far is without its result. Nothing lingers meanwhile. */
  flush(): Promise<void> {
    if (this.#outstanding === 0) return Promise.resolve()
    return new Promise((done) => {
      this.#flushes.push({ upTo: this.#ordinal, remaining: this.#outstanding, done })
      this.wake()
    })
  }

  /** Has a pass made soon. */
  wake(): void {
    if (this.#isPassDue) return
    this.#isPassDue = true
    queueMicrotask(() => this.#pass())
  }

  /** Gives back what is not in flight and refuses what comes, until `resume`. Resolves when nothing is in flight. */
  halt(error: KafkaError): Promise<void> {
    this.#halted ??= error
    this.giveBack(error)
    this.#waiting.clear()
    if (this.#inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenQuiet.push(resolve))
  }

  /** Goes on after `halt`, with an identity from its first sequence on. */
  resume(identity: ProducerIdentity | null): void {
    this.#halted = null
    if (identity === null) return
    for (const route of this.#routes.values()) for (const sender of route.senders) sender.identify(identity)
  }

  /** Gives every record back that is not in flight. */
  giveBack(error: KafkaError): void {
    for (const route of this.#routes.values()) {
      for (const sender of route.senders) sender.abandon(error)
      this.#failUnrouted(route, route.unrouted.length, error)
    }
    this.#failOutside(this.#admission.withdraw(), error)
  }

  /** A record is where it was put last: outside, waiting to learn its partition, or in the queue of that. */
  #giveUp(record: PendingRecord, why: unknown): void {
    const route = this.#routeOf(record.topic)
    const unrouted = route.unrouted.indexOf(record)
    if (this.#admission.remove(record)) this.#failOutside([record], takenBackError(record, why))
    else if (unrouted >= 0) this.#failUnrouted(route, 1, takenBackError(record, why), unrouted)
    else route.senders.some((sender) => sender.giveUp(record, why))
    this.wake()
  }

  /** Ends every wait. Nothing is sent any more. */
  stop(error: KafkaError): void {
    void this.halt(error)
    this.#expiry?.[Symbol.dispose]()
    this.#signals.close()
    this.#stopping.abort(error)
    this.#deps.ended?.()
  }

  #place(record: PendingRecord): void {
    const route = this.#routeOf(record.topic)
    this.#lookAgain(route, record.sentAt)
    // Behind those who wait to learn their partition: it may be this one.
    const sender = route.unrouted.length > 0 ? undefined : route.senderFor(record)
    if (sender === undefined) {
      route.unrouted.push(record)
      this.#leaders.want(route)
      return
    }
    const wasEmpty = sender.isEmpty
    sender.enqueue(record)
    if (sender.isInFlight) return
    this.#waiting.add(sender)
    // Between its first record and a full batch a wait is under way already.
    if (wasEmpty || sender.queuedBytes >= this.#options.batchBytes) this.wake()
  }

  #routeOf(topic: string): TopicRoute {
    const known = this.#routes.get(topic)
    if (known !== undefined) return known
    const route = new TopicRoute(topic, this.#context, this.#deps.runtime.random)
    const description = this.#deps.cluster.known(topic)
    if (description !== undefined) route.describe(description)
    this.#routes.set(topic, route)
    return route
  }

  /** New partitions cause no error that would tell of them. */
  #lookAgain(route: TopicRoute, now: number): void {
    route.lookedAt ??= now
    if (now - route.lookedAt < lookAgainMs) return
    route.lookedAt = now
    this.#leaders.lookAgain(route)
  }

  #settled(record: PendingRecord): void {
    this.#outstanding--
    this.#signals.delete(record)
    let isFlushed = false
    for (const flush of this.#flushes) {
      if (record.ordinal > flush.upTo || --flush.remaining > 0) continue
      flush.done()
      isFlushed = true
    }
    if (isFlushed) this.#flushes = this.#flushes.filter((flush) => flush.remaining > 0)
  }

  #pass(): void {
    this.#isPassDue = false
    if (this.#halted !== null) return
    for (const record of this.#admission.next()) this.#place(record)
    const now = this.#deps.runtime.clock.monotonic()
    const isUrgent = this.#flushes.length > 0 || this.#admission.isFull
    const open = new Map<string, Request>()
    const lingering: PartitionSender[] = []
    let wakeInMs = Number.POSITIVE_INFINITY
    for (const sender of this.#waiting) {
      const inMs = sender.dueInMs(now, isUrgent)
      if (sender.isEmpty) this.#waiting.delete(sender)
      else if (inMs <= 0) this.#put(sender, open)
      else {
        wakeInMs = Math.min(wakeInMs, inMs)
        if (sender.isLingering) lingering.push(sender)
      }
    }
    for (const sender of lingering) this.#takeAlong(sender, open)
    for (const request of open.values()) this.#dispatch(request)
    this.#wakeIn(wakeInMs)
  }

  /** A request that goes anyway takes what lingers for its leader: company could save nobody a request any more. */
  #takeAlong(sender: PartitionSender, open: Map<string, Request>): void {
    // A batch that could not be made may have had everything given back meanwhile.
    if (sender.isEmpty) return
    const leader = this.#leaderOf(sender)
    if (leader !== undefined && open.has(`${leader.nodeId}`)) this.#put(sender, open)
  }

  /** Puts a partition's batch into the open request to its leader, if there is a leader and room. */
  #put(sender: PartitionSender, open: Map<string, Request>): void {
    const leader = this.#leaderOf(sender)
    if (leader === undefined) {
      this.#leaders.want(this.#routeOf(sender.topic))
      return
    }
    const identity = this.#policy.identity()
    if (identity === null || !this.#policy.admits(sender)) return
    const key = sender.isRepeat ? `${leader.nodeId} repeats` : `${leader.nodeId}`
    const begun = open.get(key)
    if (begun === undefined && !this.#hasRoom(leader.nodeId, open)) return
    const batch = sender.start(identity)
    if (batch === null) {
      this.wake() // Behind what could not be sent may be something that can.
      return
    }
    const request = begun ?? { leader, attempts: [], bytes: 0 }
    open.set(key, request)
    this.#waiting.delete(sender)
    this.#routes.get(sender.topic)?.started(sender)
    request.attempts.push({ sender, batch })
    request.bytes += batch.length
    if (request.bytes < this.#options.maxRequestBytes) return
    open.delete(key)
    this.#dispatch(request)
  }

  #leaderOf({ topic, partition }: PartitionSender): Leader | undefined {
    return this.#deps.cluster.known(topic)?.leaders[partition] ?? undefined
  }

  #hasRoom(nodeId: number, open: ReadonlyMap<string, Request>): boolean {
    let requests = this.#requestsTo.get(nodeId) ?? 0
    for (const { leader } of open.values()) if (leader.nodeId === nodeId) requests++
    return requests < this.#options.maxInFlightRequests
  }

  #dispatch(request: Request): void {
    const { nodeId } = request.leader
    this.#inFlight++
    this.#requestsTo.set(nodeId, (this.#requestsTo.get(nodeId) ?? 0) + 1)
    void this.#exchange(request)
  }

  /** Rejects never: what fails is the result of each attempt. */
  async #exchange(request: Request): Promise<void> {
    const results = await this.#ask(request)
    const { nodeId } = request.leader
    this.#inFlight--
    this.#requestsTo.set(nodeId, (this.#requestsTo.get(nodeId) ?? 1) - 1)
    this.#finish(request.attempts, results)
  }

  async #ask({ leader, attempts }: Request): Promise<readonly AttemptResult[]> {
    const { requestTimeoutMs } = this.#options
    const replicasMs = Math.ceil(requestTimeoutMs * replicaShare)
    const request = produceRequest(attempts, this.#policy.transactionalId, replicasMs)
    try {
      return attemptResults(attempts, await this.#deps.nodes.send(leader, 'Produce', request, requestTimeoutMs))
    } catch (error) {
      const failure = { error: toKafkaError('Produce', error) }
      return attempts.map(() => failure)
    }
  }

  #finish(attempts: readonly Attempt[], results: readonly AttemptResult[]): void {
    const now = this.#deps.runtime.clock.monotonic()
    for (const [index, { sender }] of attempts.entries()) {
      const result = results[index] as AttemptResult
      if ('error' in result || mayBeMisled(result.code)) this.#deps.cluster.invalidateTopic(sender.topic)
      sender.finish(result, now)
      if (this.#halted !== null) sender.abandon(this.#halted)
      else if (!sender.isEmpty) this.#waiting.add(sender)
    }
    if (this.#inFlight === 0) for (const resolve of this.#whenQuiet.splice(0)) resolve()
    this.wake()
  }

  #answered(route: TopicRoute): void {
    if (route.partitionCount > 0) {
      for (const record of route.unrouted.removeFrom(0, route.unrouted.length)) this.#place(record)
    } else if (route.unrouted.length > 0) this.#leaders.want(route)
    this.wake()
  }

  #refused(route: TopicRoute, senders: readonly PartitionSender[], error: KafkaError): void {
    for (const sender of senders) sender.abandon(error)
    this.#failUnrouted(route, route.unrouted.length, error)
  }

  /** A timer for the oldest record is under way whenever there is a record: each later one expires later. */
  #watch(sentAt: number): void {
    if (this.#expiry !== null) return
    const { clock, timers } = this.#deps.runtime
    const inMs = sentAt + this.#options.deliveryTimeoutMs - clock.monotonic()
    this.#expiry = timers.schedule(inMs, () => this.#expire(sentAt))
  }

  /** What was sent at that time has had its time, whatever the fractions of a millisecond add up to. */
  #expire(dueBy: number): void {
    this.#expiry = null
    const sentBy = Math.max(dueBy, this.#deps.runtime.clock.monotonic() - this.#options.deliveryTimeoutMs)
    let oldest = Number.POSITIVE_INFINITY
    for (const route of this.#routes.values()) {
      for (const sender of route.senders) {
        sender.expire(sentBy, route.trouble ?? this.#policy.trouble)
        oldest = Math.min(oldest, sender.oldestSentAt ?? oldest)
      }
      const lateCount = route.unrouted.countSentBy(sentBy)
      if (lateCount > 0) this.#failUnrouted(route, lateCount, this.#late('its partition is not known', route.trouble))
      oldest = Math.min(oldest, route.unrouted.at(0)?.sentAt ?? oldest)
    }
    const outside = this.#admission.withdraw(sentBy)
    if (outside.length > 0) this.#failOutside(outside, this.#late('the buffer is full'))
    oldest = Math.min(oldest, this.#admission.first?.sentAt ?? oldest)
    if (oldest < Number.POSITIVE_INFINITY) this.#watch(oldest)
    this.wake()
  }

  #failUnrouted(route: TopicRoute, count: number, error: KafkaError, from = 0): void {
    for (const record of route.unrouted.removeFrom(from, count)) {
      record.failed(error)
      this.#context.settled(record)
    }
  }

  /** For records that were never let in. */
  #failOutside(records: readonly PendingRecord[], error: KafkaError): void {
    for (const record of records) {
      record.failed(error)
      this.#settled(record)
    }
  }

  #late(why: string, cause?: KafkaError): KafkaError {
    return lateError(`Not sent within ${this.#options.deliveryTimeoutMs} ms: ${why}.`, cause)
  }

  /** Waits are not taken back: one that turns out needless makes a pass that finds nothing to do. */
  #wakeIn(ms: number): void {
    const at = this.#deps.runtime.clock.monotonic() + ms
    if (at >= this.#wakeAt) return
    this.#wakeAt = at
    void this.#wakeAfter(ms, at)
  }

  async #wakeAfter(ms: number, at: number): Promise<void> {
    // Aborted by the end of the producer alone.
    await this.#deps.runtime.timers.sleep(ms, this.#stopping.signal).catch(() => {})
    if (this.#wakeAt === at) this.#wakeAt = Number.POSITIVE_INFINITY
    this.wake()
  }
}
