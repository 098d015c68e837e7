/**
 * Runs a partition's records in their lanes and keeps the ledger of what is settled. A record that is not settled stays
 * in memory at the head of its lane; nothing is rewound while the assignment lasts, so nothing is delivered twice.
 *
 *     accepted ──▶ queued in its lane ──▶ delivered ──▶ DONE, SKIP ──────────────────▶ settled ──▶ committed
 *                       ▲                     ├───────▶ RETRY, DEAD_LETTER ─ confirmed ──▲
 *                       └──────── PAUSE ──────┘
 *
 * | what happens | the record | the partition |
 * |---|---|---|
 * | the circuit is open | back to its lane | halted until the breaker lets calls through |
 * | a retry or dead letter record is not confirmed | unsettled, published again | halted until it is confirmed |
 * | too much is buffered | in its lane | not fetched |
 * | too far ahead of the acknowledged commit | in its lane | a commit is asked for |
 * | revoked | what runs may end; what is queued is forgotten | drained, committed, ended |
 * | lost | late results change nothing | ended at once |
 */

import { UnreachableError } from '@waybill/core'
import type { KafkaRecord, OffsetCommit, OutRecord, TopicPartition } from '../../client/types.ts'
import type { Outcome } from '../delivery/outcome.ts'
import { encodeCommitMetadata } from '../ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt, type Settlement } from '../ledger/ledger.ts'
import type { ResolvedTier } from '../option/resolved-binding.ts'
import type { PauseReason } from '../pause-reason.ts'
import { deadLetterRecord } from '../record/dead-letter-record.ts'
import { retryRecord } from '../record/retry-record.ts'
import { applyPause } from './apply-pause.ts'
import { CommitProgress } from './commit-progress.ts'
import { DerivedWrites } from './derived-writes.ts'
import { dueAtOf } from './due-at.ts'
import { createLanes, type Lanes } from './lanes.ts'
import { openLedger } from './open-ledger.ts'
import type { PartitionStatus, PartitionWorker, WorkerDeps } from './partition-worker.ts'
import { PauseSet } from './pause-set.ts'
import { type Slice, Work, type WorkPlace } from './work.ts'
import { WorkerScope } from './worker-scope.ts'

/** An outcome that is settled once another topic has the record. */
type Moved = Extract<Outcome, { kind: 'RETRY' | 'DEAD_LETTER' }>

/** The worker of a partition whose order needs no waiting topic. */
export class LaneWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly #deps: WorkerDeps
  readonly #at: TopicPartition
  readonly #place: WorkPlace
  readonly #lanes: Lanes
  readonly #pauses: PauseSet
  readonly #scope = new WorkerScope()
  readonly #running = new Set<Work>()
  readonly #writes: DerivedWrites
  readonly #progress: CommitProgress
  /** One lane, and each record waits until the one before it is committed. */
  readonly #waitsForCommit: boolean
  /** A lane is free again only when the retry or dead letter record is confirmed. */
  readonly #waitsForConfirmation: boolean
  readonly #usesTime: boolean
  readonly #wake = (): void => this.#pump()
  #ledger = new Ledger(ledgerStateAt(0n))
  /** What was committed is read. Before that nothing is known that could be committed. */
  #isOpened = false
  /** Why nothing of the partition may run, whoever resumes it. */
  #refusal: Error | undefined
  #era = 0
  #unconfirmed = 0
  #bufferedBytes = 0
  #dueTimer: Disposable | undefined
  #commitWaiter: { readonly offset: bigint; readonly resolve: () => void } | undefined

  constructor(deps: WorkerDeps) {
    const { binding, place, partition, epoch, consumer } = deps
    this.#deps = deps
    this.partition = partition
    this.epoch = epoch
    this.#at = { topic: place.topic, partition }
    this.#place = {
      kind: place.kind,
      tier: place.tier,
      groupId: binding.groupId,
      consumerInstance: deps.consumerInstance,
    }
    this.#lanes = createLanes(binding.parallelism)
    this.#progress = new CommitProgress(binding.maxAhead)
    this.#pauses = new PauseSet((isPaused) => (isPaused ? consumer.pause([this.#at]) : consumer.resume([this.#at])))
    this.#writes = new DerivedWrites(deps, this.#pauses, this.#scope, this.#wake)
    this.#waitsForCommit = binding.ackMode === 'MANUAL_IMMEDIATE' && binding.parallelism === 'PARTITION'
    this.#waitsForConfirmation = this.#waitsForCommit || binding.orderingMode === 'STRICT'
    this.#usesTime = place.kind === 'TIER' || binding.failureProfile === 'BLOCKING_UNLIMITED'
  }

  async open(): Promise<void> {
    const { consumer, unaccounted } = this.#deps
    const [committed] = await consumer.committed([this.#at])
    if (this.#scope.isEnded) return
    const position = consumer.position(this.#at) ?? committed?.offset ?? 0n
    const { ledger, problem, refusal } = openLedger(committed, position)
    if (problem !== undefined) unaccounted(problem)
    this.#begin(ledger)
    if (refusal === undefined) this.#isOpened = true
    else this.#refuse(refusal)
  }

  accept(records: readonly KafkaRecord[]): void {
    if (!this.#scope.isRunning) return
    const { place, binding, runtime } = this.#deps
    const now = runtime.clock.monotonic()
    const slice: Slice = { handedOverAt: now, startedAt: now, era: this.#era }
    const before = this.#ledger.watermark
    for (const record of records) {
      if (!this.#ledger.fetched(record.offset)) continue // Settled by an earlier owner, above what it had committed.
      const dueAt = place.kind === 'TIER' ? dueAtOf(record, place, binding.groupId, runtime.clock) : 0
      this.#queue(new Work(record, this.#place, slice, dueAt))
    }
    // A hole before them. What lies behind a wide one starts only when that is committed.
    if (this.#ledger.watermark !== before) this.#progress.changed()
    this.#applyBounds()
    this.#pump()
  }

  polled(): void {
    const position = this.#isOpened && this.#scope.isRunning ? this.#deps.consumer.position(this.#at) : undefined
    if (position === undefined) return
    const before = this.#ledger.watermark
    this.#ledger.reached(position)
    if (this.#ledger.watermark === before) return
    this.#progress.changed()
    this.#deps.changed(false)
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#scope.beginDraining()
    this.#forgetQueued()
    await this.#scope.drained(this.#deps.runtime.timers, deadlineMs, () => this.#running.size + this.#unconfirmed === 0)
  }

  lose(): void {
    this.#scope.end()
    this.#forgetQueued()
    this.#endCommitWait()
  }

  pause(reason: PauseReason): void {
    this.#pauses.add(reason)
  }

  resume(reason: PauseReason): void {
    if (this.#refusal !== undefined && reason === 'EXHAUSTED') return
    if (this.#pauses.remove(reason)) this.#pump()
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    if (!this.#isOpened || this.#progress.isAcknowledged || this.#scope.isEnded) return undefined
    this.#progress.sent()
    const state = this.#ledger.state()
    return [{ ...this.#at, epoch: this.epoch, offset: state.position, metadata: encodeCommitMetadata(state) }]
  }

  committed([commit]: readonly OffsetCommit[]): void {
    if (commit === undefined || this.#scope.isEnded) return
    this.#progress.acknowledged(commit.offset)
    if (this.#commitWaiter !== undefined && commit.offset > this.#commitWaiter.offset) this.#endCommitWait()
    this.#pump()
  }

  repeatCommit(): void {
    this.#progress.changed()
  }

  positionLost(continuesAt: bigint): void {
    // Further down the log: the missing offsets are reported as lost, and to the ledger they are holes. At an earlier
    // offset: offsets mean other records now, and nothing that was learnt of them holds.
    if (continuesAt >= this.#ledger.watermark) return
    this.#forgetQueued()
    this.#applyBounds()
    this.#era++
    this.#begin(new Ledger(ledgerStateAt(continuesAt)))
    this.#endCommitWait()
  }

  status(): PartitionStatus {
    return {
      ...this.#at,
      epoch: this.epoch,
      watermark: this.#ledger.watermark,
      committed: this.#progress.position,
      buffered: this.#lanes.size,
      running: this.#running.size,
      unconfirmed: this.#unconfirmed,
      waiting: 0,
      runningSince: this.#runningSince(),
      pausedBy: this.#pauses.reasons,
      trouble: this.#refusal?.message ?? this.#writes.trouble,
    }
  }

  /** Other partitions go on (L2). Never opened: nothing is committed, so what the commit says of those that wait stays. */
  #refuse(refusal: Error): void {
    this.#refusal = refusal
    this.#pauses.add('EXHAUSTED')
    this.#deps.runtime.logger.error({ ...this.#at, err: refusal }, 'A partition does not run')
  }

  /** Those that run are in the order of their starts. */
  #runningSince(): number | undefined {
    for (const { startedAt } of this.#running) if (startedAt !== undefined) return startedAt
    return undefined
  }

  #endCommitWait(): void {
    this.#commitWaiter?.resolve()
    this.#commitWaiter = undefined
  }

  #begin(ledger: Ledger): void {
    this.#ledger = ledger
    this.#progress.beginAt(ledger.watermark)
  }

  #queue(work: Work): void {
    this.#lanes.push(work)
    this.#bufferedBytes += work.bytes
  }

  #forgetQueued(): void {
    this.#lanes.clear()
    this.#bufferedBytes = 0
    this.#deps.slots.forget(this.#wake)
    this.#dueTimer?.[Symbol.dispose]()
    this.#dueTimer = undefined
    this.#pauses.remove('DELAY')
  }

  /** Fetching stops at a bound and goes on at half of it: at the bound itself it would stop and go with each record. */
  #applyBounds(): void {
    const { maxBufferedRecords, maxBufferedBytes } = this.#deps.binding
    const filled = Math.max(this.#lanes.size / maxBufferedRecords, this.#bufferedBytes / maxBufferedBytes)
    if (filled >= 1) this.#pauses.add('BACKPRESSURE')
    else if (filled <= 0.5) this.#pauses.remove('BACKPRESSURE')
  }

  /** Starts what may start. */
  #pump(): void {
    const { slots } = this.#deps
    while (this.#hasStartable()) {
      if (!slots.tryTake()) {
        slots.whenFree(this.#wake)
        return
      }
      void this.#run()
    }
  }

  #hasStartable(): boolean {
    if (!this.#scope.isRunning || this.#pauses.isHalted) return false
    const next = this.#lanes.peek(this.#now())
    if (next !== undefined && next.offset < this.#progress.startLimit) return true
    if (next !== undefined) this.#deps.changed(true)
    if (this.#usesTime) this.#waitUntilDue()
    return false
  }

  /** Runs records on one slot until it is wanted elsewhere or nothing may start. Never rejects. */
  async #run(): Promise<void> {
    const { slots, delivery, fail } = this.#deps
    try {
      do {
        const work = this.#start()
        try {
          const outcome = await delivery.deliver(work, this.#scope)
          work.startedAt = undefined // What it waits for from here on is not its handler.
          const settled = this.#settle(work, outcome)
          if (settled !== undefined) await settled
        } finally {
          this.#running.delete(work)
        }
      } while (!slots.isContended && this.#hasStartable())
    } catch (error) {
      fail(error)
    }
    slots.release()
    this.#scope.look()
    this.#pump()
  }

  #start(): Work {
    const work = this.#lanes.take(this.#now()) as Work
    work.startedAt = this.#deps.runtime.clock.monotonic()
    this.#running.add(work)
    this.#bufferedBytes -= work.bytes
    if (this.#pauses.has('BACKPRESSURE')) this.#applyBounds()
    return work
  }

  #settle(work: Work, outcome: Outcome): Promise<void> | undefined {
    // A late result of an old assignment, or of a log that was cut, changes nothing (D7).
    if (this.#scope.isEnded) return undefined
    if (work.slice.era !== this.#era) {
      this.#lanes.done(work)
      return undefined
    }
    const { telemetry } = this.#deps
    switch (outcome.kind) {
      case 'DONE':
        return this.#finish(work, 'OK')
      case 'SKIP':
        telemetry.skipped(this.#at.topic, outcome.cause)
        return this.#finish(work, 'SKIPPED')
      case 'RETRY':
      case 'DEAD_LETTER':
        return this.#publish(work, outcome)
      case 'PAUSE':
        this.#keep(work, outcome)
        return undefined
      default:
        throw new UnreachableError(outcome)
    }
  }

  #finish(work: Work, as: Settlement): Promise<void> | undefined {
    this.#note(work, as)
    if (this.#waitsForCommit) return this.#whenCommitted(work)
    this.#lanes.done(work)
    this.#deps.changed(this.#progress.isUrgent(work.offset))
    return undefined
  }

  async #whenCommitted(work: Work): Promise<void> {
    const committed = new Promise<void>((resolve) => {
      this.#commitWaiter = { offset: work.offset, resolve }
    })
    this.#deps.changed(true)
    await committed
    this.#lanes.done(work)
  }

  #publish(work: Work, outcome: Moved): Promise<void> | undefined {
    if (this.#waitsForConfirmation) return this.#confirm(work, outcome)
    // The lane is free: the ledger waits for the confirmation, not the next record (D20).
    this.#lanes.done(work)
    this.#confirm(work, outcome).catch(this.#deps.fail)
    return undefined
  }

  async #confirm(work: Work, outcome: Moved): Promise<void> {
    const record = this.#recordOf(work, outcome)
    this.#unconfirmed++
    try {
      if (!(await this.#writes.confirm(record, outcome.kind === 'DEAD_LETTER' ? 'dlt' : 'retry'))) return
    } finally {
      this.#unconfirmed--
      this.#scope.look()
    }
    if (outcome.kind === 'DEAD_LETTER') this.#deps.deadLettered({ work, written: record, outcome })
    await this.#settleConfirmed(work, outcome)
  }

  async #settleConfirmed(work: Work, { kind }: Moved): Promise<void> {
    if (this.#scope.isEnded) return
    if (work.slice.era !== this.#era) {
      if (this.#waitsForConfirmation) this.#lanes.done(work)
      return
    }
    const as = kind === 'DEAD_LETTER' ? 'DEAD' : 'RETRIED'
    if (this.#waitsForConfirmation) {
      await this.#finish(work, as)
      return
    }
    this.#note(work, as)
    this.#deps.changed(this.#progress.isUrgent(work.offset))
  }

  #recordOf(work: Work, outcome: Moved): OutRecord {
    const { binding, runtime } = this.#deps
    const hop = work.hop(outcome.failure, runtime.clock.now())
    if (outcome.kind === 'DEAD_LETTER') return deadLetterRecord(hop, outcome.reason, binding.deadLetter)
    const { tier, attempt } = outcome
    const { topic } = binding.tiers[tier - 1] as ResolvedTier
    return retryRecord(hop, { topic, tier, attempt })
  }

  #note(work: Work, as: Settlement): void {
    this.#ledger.settle(work.offset, as)
    this.#progress.changed()
    if (as === 'OK') this.#deps.telemetry.processed(this.#at.topic, this.partition)
  }

  /** The record stays where it is. */
  #keep(work: Work, outcome: Extract<Outcome, { kind: 'PAUSE' }>): void {
    work.dueAt = applyPause(work, outcome, this.#pauses, this.#deps) ?? work.dueAt
    this.#lanes.putBack(work)
    if (this.#scope.isRunning) this.#bufferedBytes += work.bytes
    else this.#lanes.clear()
  }

  #waitUntilDue(): void {
    const { place, binding, runtime } = this.#deps
    const dueAt = this.#lanes.nextDueAt()
    this.#dueTimer?.[Symbol.dispose]()
    this.#dueTimer = undefined
    // Nothing waits for time alone: it runs, or it waits for a commit, which says when it is there.
    if (dueAt === undefined || dueAt <= runtime.clock.monotonic()) {
      this.#pauses.remove('DELAY')
      return
    }
    // Of a tier all later records are due later (S0-115); else others of the partition may go on meanwhile.
    if (place.kind === 'TIER' || binding.parallelism === 'PARTITION') this.#pauses.add('DELAY')
    this.#dueTimer = runtime.timers.schedule(dueAt - runtime.clock.monotonic(), () => {
      this.#dueTimer = undefined
      this.#pauses.remove('DELAY')
      this.#pump()
    })
  }

  /** Where nothing ever waits for time, nobody needs to ask for it. */
  #now(): number {
    return this.#usesTime ? this.#deps.runtime.clock.monotonic() : 0
  }
}
