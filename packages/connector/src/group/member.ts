/**
 * One member of a container's consumer group: polls, passes records to the workers of their partitions, and commits
 * what they settle.
 *
 *     STARTING ──▶ RUNNING ── stop ──▶ STOPPED
 *         ▲           └── the consumer failed ──▶ FAILED ── backoff, unless fenced ──▶ STARTING
 *         └───────────────────────────────────────────────────────────────────────────────┘
 *
 * | callback | action |
 * |---|---|
 * | opening | with `transactional`: fence the previous owner of the partition and end its open transactions; with `startOffsets`: ask for the stored positions |
 * | assigned | create a worker for each partition, and open it before it receives a record |
 * | revoking | drain, commit, release: before the client's deadline |
 * | lost | release at once, commit nothing |
 * | position lost | report it to the worker and to the container's owner, which shows it until it is acknowledged |
 */

import { type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { type Consumer, type ConsumerOptions, KafkaError, type KafkaRecord, type TopicPartition } from '@waybill/kafka'
import { OversizedBatchError, type PositionLoss } from '@waybill/kafka/internal'
import type { MemberState, MemberStatus, UnreadPartition } from '../api/binding-view.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { encodeCommitMetadata } from '../ledger/commit-metadata.ts'
import { ledgerStateAt } from '../ledger/ledger.ts'
import { staticMemberId } from '../options/container-places.ts'
import type { PartitionWorker, WorkerDeps } from '../partition/partition-worker.ts'
import { endTransactions } from '../partition/transaction/end-transactions.ts'
import { CommitLoop } from './commit-loop.ts'
import type { ContainerDeps } from './container-deps.ts'
import { describeMemberFailure } from './member-failure.ts'
import type { RebalanceReport } from './rebalance-report.ts'
import { StartPositions } from './start-positions.ts'
import { UnreadableBatches } from './unreadable-batches.ts'

/** Applies to every failure but FENCED: then another process has taken over the member's static id. */
const restartBackoff: BackoffPolicy = { initialMs: 1_000, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }
/** The share of a revocation's deadline that handlers may use; the rest is for the commit. */
const drainShare = 0.8
/**
 * Time for a failed member to release its partitions and leave, so that others need not wait for its session timeout.
 */
const releaseDeadlineMs = 5_000
/** Interval at which idle partitions read the consumer's position: control records at the end of the log advance it. */
const positionCheckMs = 1_000

/** The state that the members of a container share. */
export interface SharedByMembers {
  /** Returns the current pause reasons of the whole container. */
  readonly pausedBy: () => Iterable<PauseReason>
  readonly rebalances: RebalanceReport
}

/** One group member with its partition workers. */
export class Member {
  readonly index: number
  readonly #deps: ContainerDeps
  readonly #shared: SharedByMembers
  readonly #runtime: Runtime
  readonly #instanceId: string | undefined
  readonly #workers = new Map<number, PartitionWorker>()
  /** The error of the last attempt to read each partition, by partition number. */
  readonly #refusals = new Map<number, string>()
  readonly #unreadable = new UnreadableBatches()
  readonly #starts: StartPositions | undefined
  readonly #stopping = new AbortController()
  #consumer: Consumer | undefined
  #commits: CommitLoop | undefined
  #loop: Promise<void> | undefined
  #state: MemberState = 'CREATED'
  #failure: Error | undefined

  constructor(deps: ContainerDeps, index: number, shared: SharedByMembers) {
    this.index = index
    this.#deps = deps
    this.#shared = shared
    this.#runtime = deps.runtime
    this.#instanceId = staticMemberId(deps.binding, deps.host, index)
    const { startOffsets } = deps.binding
    if (startOffsets !== undefined && deps.place.kind !== 'TIER')
      this.#starts = new StartPositions(startOffsets, deps.client.admin)
  }

  get workers(): Iterable<PartitionWorker> {
    return this.#workers.values()
  }

  status(): MemberStatus {
    return {
      index: this.index,
      instanceId: this.#instanceId,
      state: this.#state,
      failure: this.#failure && describeMemberFailure(this.#failure, this.#deps.binding),
      hasPlace: this.#hasPlace(),
      partitions: [...this.#workers.values()].map((worker) => worker.status()),
      unread: this.#unread(),
      unreadable: this.#unreadable.check((partition) => this.#consumer?.position(partition)),
    }
  }

  /** Resolves when the cluster has answered for the first time. */
  async start(): Promise<void> {
    const consumer = await this.#connect()
    this.#loop = this.#run(consumer)
  }

  /** Never rejects. */
  async stop(deadlineMs: number, leave: boolean | undefined): Promise<void> {
    this.#stopping.abort()
    await this.#consumer?.stop({ deadlineMs, ...(leave === undefined ? {} : { leave }) })
    await this.#loop
    // Only now: draining workers wait for their commits.
    this.#commits?.close()
    this.#state = 'STOPPED'
  }

  #hasPlace(): boolean {
    try {
      return this.#consumer?.groupMetadata() !== undefined
    } catch (error) {
      if (error instanceof KafkaError && error.kind === 'REBALANCING') return false
      throw error
    }
  }

  #unread(): readonly UnreadPartition[] {
    const owned = this.#sourceNumbers(this.#consumer?.assignment() ?? [])
    return owned
      .filter((partition) => !this.#workers.has(partition))
      .map((partition) => ({
        ...this.#at(partition),
        why: this.#refusals.get(partition) ?? 'its start offset is not known yet',
      }))
  }

  async #connect(): Promise<Consumer> {
    this.#state = 'STARTING'
    const consumer = this.#deps.client.consumer(this.#consumerOptions())
    this.#consumer = consumer
    this.#commits = new CommitLoop(
      this.#runtime,
      (offsets) => consumer.commit(offsets),
      () => this.#workers.values(),
      (error) => this.#fail(error as Error, consumer),
    )
    try {
      await consumer.start()
    } catch (error) {
      this.#state = 'FAILED'
      await consumer.stop({ deadlineMs: 0 })
      throw error
    }
    this.#state = 'RUNNING'
    this.#failure = undefined
    return consumer
  }

  /** Polls until stopped, reconnecting after every failure but FENCED. Never rejects. */
  async #run(first: Consumer): Promise<void> {
    let consumer: Consumer | undefined = first
    for (let failures = 0; !this.#stopping.signal.aborted; ) {
      try {
        consumer ??= await this.#connect()
        await this.#poll(consumer, () => {
          failures = 0
        })
      } catch (error) {
        if (this.#stopping.signal.aborted) break
        this.#fail(error as Error, consumer)
        // The old consumer must end before a new one starts: callbacks of both would concern the same partitions.
        await this.#end()
        if (error instanceof KafkaError && error.kind === 'FENCED') break
        consumer = undefined
        if (!(await this.#sleep(backoffMs(restartBackoff, ++failures, this.#runtime.random)))) break
      }
    }
  }

  async #end(): Promise<void> {
    await this.#consumer?.stop({ deadlineMs: releaseDeadlineMs })
    this.#commits?.close()
  }

  async #poll(consumer: Consumer, progressed: () => void): Promise<void> {
    const { binding, place } = this.#deps
    const { clock } = this.#runtime
    // A batch commits when it completes, not after a poll. Tiers deliver single records.
    const isManual = binding.ackMode === 'MANUAL' && (binding.listenerType === 'SINGLE' || place.kind === 'TIER')
    let nextCheckAt = 0
    while (!this.#stopping.signal.aborted) {
      const hasRecords = await this.#pollOnce(consumer, progressed)
      if (clock.monotonic() >= nextCheckAt) {
        nextCheckAt = clock.monotonic() + positionCheckMs
        for (const worker of this.#workers.values()) worker.polled()
      }
      if (isManual) this.#commits?.request()
      this.#commits?.tick()
      if (hasRecords && binding.idleBetweenPollsMs > 0) await this.#sleep(binding.idleBetweenPollsMs)
    }
  }

  /** Returns whether there were records. A call of its own: a loop would hold the last ones while it waits for more. */
  async #pollOnce(consumer: Consumer, progressed: () => void): Promise<boolean> {
    const { binding, telemetry } = this.#deps
    const records = await consumer.poll(binding.maxPollRecords, binding.pollTimeoutMs)
    const held = this.#runtime.failpoint('fetch.received')
    if (held !== undefined) await held
    if (records.length === 0) return false
    progressed()
    telemetry.batchSize(records.length)
    this.#dispatch(records)
    return true
  }

  /** Passes each run of consecutive records of one partition to its worker: a poll may interleave partitions. */
  #dispatch(records: readonly KafkaRecord[]): void {
    for (let start = 0; start < records.length; ) {
      const first = records[start] as KafkaRecord
      const end = endOfRun(records, start, first)
      const worker = this.#workers.get(first.partition)
      // Records of a partition revoked since the poll are dropped: its next owner reads them.
      if (worker?.epoch === first.epoch)
        worker.accept(end - start === records.length ? records : records.slice(start, end))
      start = end
    }
  }

  #consumerOptions(): ConsumerOptions {
    const { binding, place } = this.#deps
    return {
      groupId: place.groupId,
      topics: [place.topic],
      ...(this.#instanceId === undefined ? {} : { instanceId: this.#instanceId }),
      sessionTimeoutMs: binding.sessionTimeoutMs,
      heartbeatIntervalMs: binding.heartbeatIntervalMs,
      maxPollIntervalMs: binding.maxPollIntervalMs,
      drainDeadlineMs: binding.shutdownTimeoutMs,
      // Only this connector writes to a tier, so its first reader must read all of it.
      startFrom: place.kind === 'TIER' ? 'EARLIEST' : binding.startFrom,
      // The initial ledger: nothing is settled, and the loss audit counts from here.
      startMetadata: (offset) => encodeCommitMetadata(ledgerStateAt(offset)),
      ...(binding.waitingTopic === undefined ? {} : { companion: () => binding.waitingTopic }),
      onOpening: (partitions) => this.#opening(partitions),
      onAssigned: (partitions, epoch) => this.#assigned(partitions, epoch),
      onRebalance: (rebalance) => this.#shared.rebalances.rebalanced(this.index, rebalance),
      onRevoking: (partitions, deadlineMs) => this.#revoking(partitions, deadlineMs),
      onLost: (partitions) => this.#lost(partitions),
      onPositionLost: (loss) => this.#positionLost(loss),
      maxBatchBytes: binding.maxBatchBytes,
      onPartitionFailed: (partition, error) => this.#partitionFailed(partition, error),
    }
  }

  /** Ends the previous owner's transactions, so that none of them commits after this member read the offset (I13). */
  async #opening(partitions: readonly TopicPartition[]): Promise<void> {
    const { place, client } = this.#deps
    const { transactional } = this.#deps.binding
    const numbers = this.#sourceNumbers(partitions)
    // After the previous owner has released them: what it stored until then counts.
    await this.#starts?.find(numbers.map((partition) => this.#at(partition)))
    if (transactional === false) return
    await Promise.all(
      numbers.map((partition) => endTransactions(client, place.groupId, this.#at(partition), transactional)),
    )
  }

  async #assigned(partitions: readonly TopicPartition[], epoch: number): Promise<void> {
    const numbers = this.#sourceNumbers(partitions)
    for (const partition of numbers) this.#moveToStored(partition)
    const opened = numbers.map(async (partition) => {
      const worker = this.#deps.createWorker(this.#workerDeps(partition, epoch))
      this.#workers.set(partition, worker)
      this.#refusals.delete(partition)
      for (const reason of this.#shared.pausedBy()) worker.pause(reason)
      await worker.open()
    })
    await Promise.all(opened)
    this.#deps.onEvent({ type: 'ASSIGNED', partitions: numbers, epoch })
    await this.#runtime.failpoint('assign.end')
  }

  #moveToStored(partition: number): void {
    const at = this.#at(partition)
    const from = this.#consumer && this.#starts?.apply(this.#consumer, at)
    if (from === undefined) return
    const fields = { ...at, from, to: this.#consumer?.position(at) }
    this.#runtime.logger.warn(fields, 'Stored position is below the committed one, reading again from it')
  }

  async #revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const workers = this.#workersOf(partitions)
    const endAt = this.#runtime.clock.monotonic() + deadlineMs
    await this.#runtime.failpoint('revoke.start')
    await Promise.all(workers.map((worker) => worker.drain(deadlineMs * drainShare)))
    await this.#commits?.flush(workers, endAt - this.#runtime.clock.monotonic())
    this.#release(workers, false)
    await this.#runtime.failpoint('revoke.end')
  }

  #lost(partitions: readonly TopicPartition[]): void {
    this.#release(this.#workersOf(partitions), true)
  }

  /** Logs and counts partitions that this member gives up. */
  #reportReleased(workers: readonly PartitionWorker[], isLost: boolean): void {
    if (workers.length === 0) return
    const { place, telemetry } = this.#deps
    telemetry.revoked(place.topic, isLost ? 'lost' : 'revoked', workers.length)
    // One text: text loggers do not show lists.
    const committed = workers.map((worker) => `${worker.partition} at ${worker.status().committed}`).join(', ')
    const fields = { topic: place.topic, consumerGroup: place.groupId, member: this.index, committed }
    if (isLost) this.#runtime.logger.warn(fields, 'Partitions lost')
    else this.#runtime.logger.info(fields, 'Partitions revoked')
  }

  /** Ends these workers. A partition that is reassigned meanwhile already has another worker, which stays. */
  #release(workers: readonly PartitionWorker[], isLost: boolean): void {
    this.#reportReleased(workers, isLost)
    for (const worker of workers) {
      const { partition } = worker
      if (this.#workers.get(partition) === worker) this.#workers.delete(partition)
      const { running } = worker.status()
      worker.lose()
      if (running > 0)
        this.#runtime.logger.warn(
          { ...this.#at(partition), running },
          'Partition released with handlers still running; another member may process their records too',
        )
    }
    this.#deps.onEvent({ type: 'RELEASED', partitions: workers.map(({ partition }) => partition), isLost })
  }

  #workersOf(partitions: readonly TopicPartition[]): PartitionWorker[] {
    return this.#sourceNumbers(partitions).flatMap((partition) => this.#workers.get(partition) ?? [])
  }

  #partitionFailed({ topic, partition }: TopicPartition, error: Error): void {
    const { binding, place } = this.#deps
    this.#refusals.set(partition, `${topic}-${partition}: ${error.message}`)
    const isOversized = error instanceof OversizedBatchError && topic === place.topic
    if (isOversized) this.#workers.get(partition)?.oversized(error)
    if (!isOversized || binding.oversizedBatch === 'HALT')
      this.#unreadable.failed({ topic, partition }, this.#consumer?.position({ topic, partition }), error)
  }

  #positionLost(loss: PositionLoss): void {
    if (loss.continuesAt !== null) this.#workers.get(loss.partition)?.positionLost(loss.continuesAt, loss.topic)
    this.#deps.onEvent({ type: 'POSITION_LOST', loss })
  }

  #workerDeps(partition: number, epoch: number): WorkerDeps {
    const { binding, place, client, delivery, batchDelivery, publisher, slots, telemetry, host, onEvent } = this.#deps
    const consumer = this.#consumer as Consumer
    return {
      binding,
      place,
      partition,
      epoch,
      consumer,
      client,
      delivery,
      batchDelivery,
      publisher,
      slots,
      telemetry,
      consumerInstance: `${host}-${this.index}`,
      runtime: this.#runtime,
      deadLettered: (letter) => onEvent({ type: 'DEAD_LETTERED', letter }),
      changed: (isUrgent) => {
        if (isUrgent || binding.ackMode === 'MANUAL_IMMEDIATE') this.#commits?.request()
      },
      unaccounted: (problem) => onEvent({ type: 'UNACCOUNTED', partition: this.#at(partition), problem }),
      pauseBinding: () => onEvent({ type: 'PAUSE_BINDING' }),
      fail: (error) => this.#fail(error as Error, consumer),
    }
  }

  /** Stops the consumer, which releases all partitions. The poll loop sees a rejected poll and reconnects. */
  #fail(error: Error, consumer: Consumer | undefined): void {
    if (this.#state === 'STOPPED' || this.#stopping.signal.aborted) return
    if (this.#state === 'FAILED') return // The rejected poll is a consequence, not another failure.
    this.#state = 'FAILED'
    this.#failure = error
    this.#runtime.logger.error({ err: error, member: this.index }, 'Group member failed')
    void consumer?.stop({ deadlineMs: releaseDeadlineMs })
  }

  /** Returns the partitions of the source topic; those of a companion topic are assigned and revoked with them. */
  #sourceNumbers(partitions: readonly TopicPartition[]): number[] {
    return partitions.filter(({ topic }) => topic === this.#deps.place.topic).map(({ partition }) => partition)
  }

  #at(partition: number): TopicPartition {
    return { topic: this.#deps.place.topic, partition }
  }

  /** Returns false when the member was stopped meanwhile. */
  async #sleep(ms: number): Promise<boolean> {
    try {
      await this.#runtime.timers.sleep(ms, this.#stopping.signal)
      return true
    } catch {
      return false // A sleep rejects only when it is aborted.
    }
  }
}

function endOfRun(records: readonly KafkaRecord[], start: number, { topic, partition }: TopicPartition): number {
  let end = start + 1
  for (; end < records.length; end++) {
    const next = records[end] as KafkaRecord
    if (next.partition !== partition || next.topic !== topic) break
  }
  return end
}
