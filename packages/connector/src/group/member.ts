/**
 * One member of a container's consumer group: polls, hands records to the workers of their partitions, and commits what
 * they settle.
 *
 *     STARTING ──▶ RUNNING ── stop ──▶ STOPPED
 *         ▲           └── the consumer failed ──▶ FAILED ── backoff, unless fenced ──▶ STARTING
 *         └───────────────────────────────────────────────────────────────────────────────┘
 *
 * | callback | what is done |
 * |---|---|
 * | opening | with `transactional`: whoever had the partition before is fenced, and what it left open is ended |
 * | assigned | a worker for each partition, opened before a record of it is handed out |
 * | revoking | drain, commit, end: within the time the client gives |
 * | lost | end at once, commit nothing |
 * | position lost | told to the worker and to whoever runs the container: shown until somebody acknowledges it |
 */

import { type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { type Consumer, type ConsumerOptions, KafkaError, type KafkaRecord, type TopicPartition } from '@waybill/kafka'
import { type PositionLoss } from '@waybill/kafka/internal'
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

/** A place that is fenced belongs to somebody else; everything else may pass. */
const restartBackoff: BackoffPolicy = { initialMs: 1_000, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }
/** Of the time to give partitions back, what handlers may use; the rest is for the commit. */
const drainShare = 0.8
/** How long a member that failed may take to give its partitions back and leave: others need not wait for its session. */
const giveBackMs = 5_000
/** How often a partition that brings nothing is asked where it stands: control records at its end move it. */
const lookEveryMs = 1_000

/** See the file's comment. */
export class Member {
  readonly index: number
  readonly #deps: ContainerDeps
  readonly #pausedBy: () => Iterable<PauseReason>
  readonly #runtime: Runtime
  readonly #instanceId: string | undefined
  readonly #workers = new Map<number, PartitionWorker>()
  /** Why partitions could not be read when they were tried last, by their numbers. */
  readonly #refusals = new Map<number, string>()
  readonly #stopping = new AbortController()
  #consumer: Consumer | undefined
  #commits: CommitLoop | undefined
  #loop: Promise<void> | undefined
  #state: MemberState = 'CREATED'
  #failure: Error | undefined

  /** @param pausedBy - reasons that hold for every partition of the container, now */
  constructor(deps: ContainerDeps, index: number, pausedBy: () => Iterable<PauseReason>) {
    this.index = index
    this.#deps = deps
    this.#pausedBy = pausedBy
    this.#runtime = deps.runtime
    this.#instanceId = staticMemberId(deps.binding, deps.host, index)
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
    // Not before: what drains waits for its commits.
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
        why: this.#refusals.get(partition) ?? 'where it begins could not be learnt yet',
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

  /** Polls until it is stopped, through every failure that may pass. Never rejects. */
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
        // Over before another begins: the callbacks of both would speak of the same partitions.
        await this.#end()
        if (error instanceof KafkaError && error.kind === 'FENCED') break
        consumer = undefined
        if (!(await this.#sleep(backoffMs(restartBackoff, ++failures, this.#runtime.random)))) break
      }
    }
  }

  async #end(): Promise<void> {
    await this.#consumer?.stop({ deadlineMs: giveBackMs })
    this.#commits?.close()
  }

  async #poll(consumer: Consumer, progressed: () => void): Promise<void> {
    const { binding, place, telemetry } = this.#deps
    const { clock, failpoint } = this.#runtime
    // A batch is committed when it is over, not with a poll; in a tier there are none.
    const isManual = binding.ackMode === 'MANUAL' && (binding.listenerType === 'SINGLE' || place.kind === 'TIER')
    let lookAt = 0
    while (!this.#stopping.signal.aborted) {
      const records = await consumer.poll(binding.maxPollRecords, binding.pollTimeoutMs)
      const held = failpoint('fetch.received')
      if (held !== undefined) await held
      if (records.length > 0) {
        progressed()
        telemetry.batchSize(records.length)
        this.#handOver(records)
      }
      if (clock.monotonic() >= lookAt) {
        lookAt = clock.monotonic() + lookEveryMs
        for (const worker of this.#workers.values()) worker.polled()
      }
      if (isManual) this.#commits?.request()
      this.#commits?.tick()
      if (records.length > 0 && binding.idleBetweenPollsMs > 0) await this.#sleep(binding.idleBetweenPollsMs)
    }
  }

  /** Records of a partition come in order, those of several may be mixed: each run goes to its worker at once. */
  #handOver(records: readonly KafkaRecord[]): void {
    for (let start = 0; start < records.length; ) {
      const first = records[start] as KafkaRecord
      const end = endOfRun(records, start, first)
      const worker = this.#workers.get(first.partition)
      // Another's, or nobody's: it was revoked between the poll and now, and its next owner reads them.
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
      // A tier is written by this connector: what is there when its first reader comes is for it.
      startFrom: place.kind === 'TIER' ? 'EARLIEST' : binding.startFrom,
      // Nothing is settled yet, and that is accounted for.
      startMetadata: (offset) => encodeCommitMetadata(ledgerStateAt(offset)),
      ...(binding.waitingTopic === undefined ? {} : { companion: () => binding.waitingTopic }),
      onOpening: (partitions) => this.#opening(partitions),
      onAssigned: (partitions, epoch) => this.#assigned(partitions, epoch),
      onRevoking: (partitions, deadlineMs) => this.#revoking(partitions, deadlineMs),
      onLost: (partitions) => this.#lost(partitions),
      onPositionLost: (loss) => this.#positionLost(loss),
      onPartitionFailed: ({ topic, partition }, error) => {
        this.#refusals.set(partition, `${topic}-${partition}: ${error.message}`)
      },
    }
  }

  /** Nothing that an owner before us has under way may still be committed once its offset was read (I13). */
  async #opening(partitions: readonly TopicPartition[]): Promise<void> {
    const { place, client } = this.#deps
    const { transactional } = this.#deps.binding
    if (transactional === false) return
    const numbers = this.#sourceNumbers(partitions)
    await Promise.all(
      numbers.map((partition) => endTransactions(client, place.groupId, this.#at(partition), transactional)),
    )
  }

  async #assigned(partitions: readonly TopicPartition[], epoch: number): Promise<void> {
    const numbers = this.#sourceNumbers(partitions)
    const opened = numbers.map(async (partition) => {
      const worker = this.#deps.createWorker(this.#workerDeps(partition, epoch))
      this.#workers.set(partition, worker)
      this.#refusals.delete(partition)
      for (const reason of this.#pausedBy()) worker.pause(reason)
      await worker.open()
    })
    await Promise.all(opened)
    this.#deps.onEvent({ type: 'ASSIGNED', partitions: numbers, epoch })
    await this.#runtime.failpoint('assign.end')
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

  /** A partition that comes back while its last assignment is still being ended has another worker by then. */
  #release(workers: readonly PartitionWorker[], isLost: boolean): void {
    for (const worker of workers) {
      const { partition } = worker
      if (this.#workers.get(partition) === worker) this.#workers.delete(partition)
      const { running } = worker.status()
      worker.lose()
      if (running > 0)
        this.#runtime.logger.warn(
          { ...this.#at(partition), running },
          'A partition is given back while handlers run: what they still do may be done elsewhere too',
        )
    }
    this.#deps.onEvent({ type: 'RELEASED', partitions: workers.map(({ partition }) => partition), isLost })
  }

  #workersOf(partitions: readonly TopicPartition[]): PartitionWorker[] {
    return this.#sourceNumbers(partitions).flatMap((partition) => this.#workers.get(partition) ?? [])
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

  /** Gives everything back. The loop sees it as a poll that rejects, and begins anew. */
  #fail(error: Error, consumer: Consumer | undefined): void {
    if (this.#state === 'STOPPED' || this.#stopping.signal.aborted) return
    if (this.#state === 'FAILED') return // The poll that rejects because of it is no other failure.
    this.#state = 'FAILED'
    this.#failure = error
    this.#runtime.logger.error({ err: error, member: this.index }, 'A member of the group failed')
    void consumer?.stop({ deadlineMs: giveBackMs })
  }

  /** Partitions of the source; those of a companion come and go with them. */
  #sourceNumbers(partitions: readonly TopicPartition[]): number[] {
    return partitions.filter(({ topic }) => topic === this.#deps.place.topic).map(({ partition }) => partition)
  }

  #at(partition: number): TopicPartition {
    return { topic: this.#deps.place.topic, partition }
  }

  /** False when it was stopped meanwhile. */
  async #sleep(ms: number): Promise<boolean> {
    try {
      await this.#runtime.timers.sleep(ms, this.#stopping.signal)
      return true
    } catch {
      return false // Aborted: the only way in which a sleep ends early.
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
