/**
 * Sends the records of all partitions to their leaders. The decisions are elsewhere (partition-sender, accumulator,
 * topic-route); here are the requests, the waits and the bounds.
 *
 * A pass visits every partition with records and nothing in flight, and puts those that are due into one request per
 * leader: 64 partitions make one request, not 64. A partition whose last attempt failed goes into a separate request,
 * so that the others need not wait for it. A pass runs after a record, a response, metadata or a timer, and after the
 * triggering code has returned, so that records sent in one turn share a request.
 */

import type { Leader } from '../cluster/cluster.ts'
import { type KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { Admission } from './admission.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import { LeaderFinder } from './leader-finder.ts'
import type { AttemptResult, PartitionSender, SenderContext } from './partition-sender.ts'
import { PendingRecord } from './pending-record.ts'
import { mayBeStaleLeader } from './produce-answer.ts'
import { type Attempt, attemptResults, produceRequest } from './produce-request.ts'
import { ProduceTelemetry } from './produce-telemetry.ts'
import type { OutRecord, SendOptions, SendResult } from './producer.ts'
import type { ProducerIdentity } from './producer-identity.ts'
import type { ResolvedProducerOptions } from './producer-options.ts'
import { lateError, notSentError, tooLargeError } from './send-error.ts'
import { SignalWatch } from './signal-watch.ts'
import { TopicRoute } from './topic-route.ts'

/** The parts in which producers differ: identities, and the effect of a failure on later records. */
export interface SendPolicy {
  /** The transactional id; null when batches do not belong to a transaction. */
  readonly transactionalId: string | null
  /** See {@link SenderContext.raisesEpoch}. */
  readonly raisesEpoch: boolean
  /** Returns the identity for a partition without one; null while there is none. `wake` is called when there is. */
  identity(): ProducerIdentity | null
  /** Called when this producer id has no epochs left. */
  spent(identity: ProducerIdentity): void
  /** Returns whether this partition may be written to now; if not, `wake` is called when it may. */
  admits(sender: PartitionSender): boolean
  /** The last error, while there is no identity. */
  readonly trouble: KafkaError | undefined
  /** Called after records of this partition failed or became unknown. Later records are still queued. */
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
 * Share of the request timeout that the broker may wait for its replicas. It then reports the timeout itself, and the
 * connection with the requests behind it survives.
 */
const replicaShare = 0.7

/** Interval for detecting new partitions, as in other clients: they are added once in months. */
const refreshMs = 300_000

/** Sends records and settles their results. */
export class SendLoop {
  readonly #deps: ProducerDeps
  readonly #options: ResolvedProducerOptions
  readonly #policy: SendPolicy
  readonly #context: SenderContext
  readonly #admission: Admission
  readonly #leaders: LeaderFinder
  readonly #signals: SignalWatch<PendingRecord>
  readonly #telemetry: ProduceTelemetry
  readonly #routes: Map<string, TopicRoute> = new Map()
  /** Partitions with records and nothing in flight, longest waiting first. */
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
  /** Failures to report once all late records have their result; null while none expires. */
  #lateFailures: [KafkaError, PartitionSender][] | null = null

  constructor(deps: ProducerDeps, options: ResolvedProducerOptions, policy: SendPolicy) {
    this.#deps = deps
    this.#options = options
    this.#policy = policy
    this.#admission = new Admission(options.maxBufferedBytes)
    this.#signals = new SignalWatch(deps.runtime, (record, why) => this.#cancel(record, why))
    this.#telemetry = new ProduceTelemetry(deps.runtime.metrics, deps.clusterLabel ?? 'default')
    this.#context = {
      options,
      random: deps.runtime.random,
      isTransactional: policy.transactionalId !== null,
      raisesEpoch: policy.raisesEpoch,
      written: (topic, sentAt, now, records) => this.#telemetry.written(topic, now - sentAt, records),
      settled: (record) => {
        this.#admission.release(record)
        this.#settled(record)
      },
      spent: (identity) => policy.spent(identity),
      failed: (error, sender) => {
        if (this.#lateFailures === null) policy.failed(error, sender)
        else this.#lateFailures.push([error, sender])
      },
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
      return Promise.reject(error) // An invalid record, or unreadable headers.
    }
    const { maxRecordBytes } = this.#options
    if (pending.bytes > maxRecordBytes) {
      const error = tooLargeError(pending.topic, pending.bytes, maxRecordBytes)
      this.#telemetry.failed(pending.topic, error.reason ?? error.kind)
      return Promise.reject(error)
    }
    this.#ordinal++
    this.#outstanding++
    this.#watch(pending.sentAt)
    if (options !== undefined) this.#signals.add(pending, options, pending.sentAt)
    if (this.#admission.admit(pending)) this.#place(pending)
    // A record waits for space: lingering ones must go.
    else this.wake()
    return pending.result
  }

  get isIdle(): boolean {
    return this.#outstanding === 0
  }

  /** Aborts when the producer ends. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Resolves when every record sent so far has its result. No record lingers meanwhile. */
  flush(): Promise<void> {
    if (this.#outstanding === 0) return Promise.resolve()
    return new Promise((done) => {
      this.#flushes.push({ upTo: this.#ordinal, remaining: this.#outstanding, done })
      this.wake()
    })
  }

  /** Schedules a pass. */
  wake(): void {
    if (this.#isPassDue) return
    this.#isPassDue = true
    queueMicrotask(() => this.#pass())
  }

  /** Fails records that are not in flight and refuses new ones, until `resume`. Resolves when nothing is in flight. */
  halt(error: KafkaError): Promise<void> {
    this.#halted ??= error
    this.failQueued(error)
    this.#waiting.clear()
    if (this.#inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenQuiet.push(resolve))
  }

  /** Continues after `halt`, with an identity from its first sequence on. */
  resume(identity: ProducerIdentity | null): void {
    this.#halted = null
    if (identity === null) return
    for (const route of this.#routes.values()) for (const sender of route.senders) sender.identify(identity)
  }

  /** Fails every record that is not in flight. */
  failQueued(error: KafkaError): void {
    for (const route of this.#routes.values()) {
      for (const sender of route.senders) sender.abandon(error)
      this.#failUnrouted(route, route.unrouted.length, error)
    }
    this.#failOutside(this.#admission.withdraw(), error)
  }

  /** Fails every record of these partitions that is not in flight. */
  failPartitions(partitions: readonly TopicPartition[], error: KafkaError): void {
    for (const { topic, partition } of partitions) this.#routeOf(topic).sender(partition).abandon(error)
  }

  /** Cancels a record: it waits for space, waits for its partition, or is in that partition's queue. */
  #cancel(record: PendingRecord, why: unknown): void {
    const route = this.#routeOf(record.topic)
    const unrouted = route.unrouted.indexOf(record)
    if (this.#admission.remove(record)) this.#failOutside([record], notSentError(record, why))
    else if (unrouted >= 0) this.#failUnrouted(route, 1, notSentError(record, why), unrouted)
    else route.senders.some((sender) => sender.cancel(record, why))
    this.wake()
  }

  /** Ends every wait. Nothing is sent afterward. */
  stop(error: KafkaError): void {
    void this.halt(error)
    this.#expiry?.[Symbol.dispose]()
    this.#signals.close()
    this.#stopping.abort(error)
    this.#deps.ended?.()
  }

  #place(record: PendingRecord): void {
    const route = this.#routeOf(record.topic)
    this.#refreshIfDue(route, record.sentAt)
    // Queued behind records that wait for a partition: it may be the same one.
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
    // Between the first record and a full batch, the linger timer is already running.
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

  /** Refreshes metadata periodically, since new partitions cause no error. */
  #refreshIfDue(route: TopicRoute, now: number): void {
    route.refreshedAt ??= now
    if (now - route.refreshedAt < refreshMs) return
    route.refreshedAt = now
    this.#leaders.refresh(route)
  }

  #settled(record: PendingRecord): void {
    this.#outstanding--
    this.#signals.delete(record)
    const { error, topic } = record
    if (error !== undefined) this.#telemetry.failed(topic, error.reason ?? error.kind)
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

  /** Adds lingering records to a request that is sent anyway: waiting longer would not save a request. */
  #takeAlong(sender: PartitionSender, open: Map<string, Request>): void {
    // A batch that could not be encoded may have failed all queued records.
    if (sender.isEmpty) return
    const leader = this.#leaderOf(sender)
    if (leader !== undefined && open.has(`${leader.nodeId}`)) this.#put(sender, open)
  }

  /** Adds a partition's batch to the open request to its leader, if there is a leader and room. */
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
      this.wake() // Records behind the failed batch may be sendable.
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

  /** Sends a request and finishes its attempts. Never rejects: a failure is the result of each attempt. */
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
      if ('error' in result || mayBeStaleLeader(result.code)) this.#deps.cluster.invalidateTopic(sender.topic)
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

  /** Starts the expiry timer for the oldest record, if none is running. Later records expire later. */
  #watch(sentAt: number): void {
    if (this.#expiry !== null) return
    const { clock, timers } = this.#deps.runtime
    const inMs = sentAt + this.#options.deliveryTimeoutMs - clock.monotonic()
    this.#expiry = timers.schedule(inMs, () => this.#expire(sentAt))
  }

  /**
   * Fails records whose delivery timeout is over. Records sent at `dueBy` count as expired despite rounding of
   * fractional milliseconds.
   */
  #expire(dueBy: number): void {
    this.#expiry = null
    const sentBy = Math.max(dueBy, this.#deps.runtime.clock.monotonic() - this.#options.deliveryTimeoutMs)
    let oldest = Number.POSITIVE_INFINITY
    const failures: [KafkaError, PartitionSender][] = []
    this.#lateFailures = failures
    for (const route of this.#routes.values()) {
      for (const sender of route.senders) {
        sender.expire(sentBy, route.troubleOf(sender) ?? this.#policy.trouble)
        oldest = Math.min(oldest, sender.oldestSentAt ?? oldest)
      }
      const lateCount = route.unrouted.countSentBy(sentBy)
      if (lateCount > 0) this.#failUnrouted(route, lateCount, this.#late('its partition is unknown', route.trouble))
      oldest = Math.min(oldest, route.unrouted.at(0)?.sentAt ?? oldest)
    }
    const outside = this.#admission.withdraw(sentBy)
    if (outside.length > 0) this.#failOutside(outside, this.#late('the buffer is full'))
    oldest = Math.min(oldest, this.#admission.first?.sentAt ?? oldest)
    this.#lateFailures = null
    // Only now: a broken transaction fails all its records, and each late one shall have its own reason.
    for (const [error, sender] of failures) this.#policy.failed(error, sender)
    if (oldest < Number.POSITIVE_INFINITY) this.#watch(oldest)
    this.wake()
  }

  #failUnrouted(route: TopicRoute, count: number, error: KafkaError, from = 0): void {
    for (const record of route.unrouted.removeFrom(from, count)) {
      record.failed(error)
      this.#context.settled(record)
    }
  }

  /** Fails records that were never admitted. */
  #failOutside(records: readonly PendingRecord[], error: KafkaError): void {
    for (const record of records) {
      record.failed(error)
      this.#settled(record)
    }
  }

  #late(why: string, cause?: KafkaError): KafkaError {
    return lateError(`Not sent within ${this.#options.deliveryTimeoutMs} ms: ${why}.`, cause)
  }

  /** Schedules a pass. Timers are not canceled: a needless one makes a pass that finds nothing to do. */
  #wakeIn(ms: number): void {
    const at = this.#deps.runtime.clock.monotonic() + ms
    if (at >= this.#wakeAt) return
    this.#wakeAt = at
    void this.#wakeAfter(ms, at)
  }

  async #wakeAfter(ms: number, at: number): Promise<void> {
    // Aborted only when the producer ends.
    await this.#deps.runtime.timers.sleep(ms, this.#stopping.signal).catch(() => {})
    if (this.#wakeAt === at) this.#wakeAt = Number.POSITIVE_INFINITY
    this.wake()
  }
}
