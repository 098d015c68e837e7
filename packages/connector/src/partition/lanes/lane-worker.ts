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
 * | BATCH: a batch is over | what failed is back in its lane | waits until the batch is settled and committed |
 * | the log was cut | what was read is forgotten, and what is left of it read again | counts anew from there |
 * | revoked | what runs may end; what is queued is forgotten | drained, committed, ended |
 * | lost | late results change nothing | ended at once |
 */

import { UnreachableError } from '@waybill/core'
import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../../api/binding-view.ts'
import type { PauseReason } from '../../api/pause-reason.ts'
import type { Batch, HandedOver } from '../../delivery/batch.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import { Work, type WorkPlace } from '../../delivery/work.ts'
import { encodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt, type Settlement } from '../../ledger/ledger.ts'
import { openLedger } from '../../ledger/open-ledger.ts'
import { readAgainFrom } from '../../ledger/read-again-from.ts'
import { applyPause } from '../apply-pause.ts'
import { Backpressure, bytesOf } from '../backpressure.ts'
import { DelayWait } from '../delay-wait.ts'
import { DerivedWrites } from '../derived-writes.ts'
import { dueAtOf } from '../due-at.ts'
import type { PartitionWorker, WorkerDeps } from '../partition-worker.ts'
import { PauseSet } from '../pause-set.ts'
import { WorkerScope } from '../worker-scope.ts'
import { BatchLane } from './batch-lane.ts'
import { type BatchRecords, BatchRun } from './batch-run.ts'
import { createLanes, type Lanes, type WorkLanes } from './lanes.ts'
import { PartitionAccount } from './partition-account.ts'
import { type Moved, type MovedAs, RecordMover } from './record-mover.ts'

/** The worker of a partition whose order needs no waiting topic. */
export class LaneWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly #deps: WorkerDeps
  readonly #at: TopicPartition
  readonly #place: WorkPlace
  readonly #lanes: Lanes
  readonly #push: (run: HandedOver) => void
  readonly #pauses: PauseSet
  readonly #backpressure: Backpressure
  readonly #scope = new WorkerScope()
  /** But for those of a batch, which knows what runs. */
  readonly #running = new Set<Work>()
  readonly #writes: DerivedWrites
  readonly #mover: RecordMover
  readonly #delay: DelayWait
  readonly #account: PartitionAccount
  /** Of the source with BATCH. In a tier each record is due at a time of its own, and is a batch of its own. */
  readonly #batch: BatchRun | undefined
  /** One lane, and each record waits until the one before it is committed. */
  readonly #waitsForCommit: boolean
  /** A lane is free again only when the retry or dead letter record is confirmed. */
  readonly #waitsForConfirmation: boolean
  readonly #usesTime: boolean
  readonly #wake = (): void => this.#pump()
  /** What was committed is read. Before that nothing is known that could be committed. */
  #isOpened = false
  /** Why nothing of the partition may run, whoever resumes it. */
  #refusal: Error | undefined
  #era = 0
  /** Monotonic: when it was last asked what may start, which starts in the same turn. */
  #lookedAt = 0
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
    this.#account = new PartitionAccount(this.#at, binding.maxAhead, deps.telemetry)
    this.#pauses = new PauseSet((isPaused) => (isPaused ? consumer.pause([this.#at]) : consumer.resume([this.#at])))
    this.#writes = new DerivedWrites(deps, this.#pauses, this.#scope, this.#wake)
    this.#mover = new RecordMover(deps, this.#writes, this.#scope)
    this.#delay = new DelayWait(deps, this.#pauses, this.#wake)
    const isBatch = binding.listenerType === 'BATCH' && place.kind === 'SOURCE'
    if (isBatch) {
      const lane = new BatchLane(this.#place)
      this.#lanes = lane
      this.#push = (run) => lane.push(run)
      this.#batch = new BatchRun(lane, this.#batchRecords(), deps)
    } else {
      const lanes = createLanes(binding.parallelism)
      this.#lanes = lanes
      this.#push = (run) => this.#pushEach(lanes, run)
    }
    this.#backpressure = new Backpressure(this.#pauses, binding, () => this.#lanes.size)
    this.#waitsForCommit = !isBatch && binding.ackMode === 'MANUAL_IMMEDIATE' && binding.parallelism === 'PARTITION'
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
    const now = this.#deps.runtime.clock.monotonic()
    const slice = { handedOverAt: now, startedAt: now, era: this.#era }
    const runs = this.#account.fetched(records)
    for (const run of runs) {
      this.#backpressure.added(bytesOf(run.records))
      this.#push({ ...run, slice })
    }
    this.#backpressure.apply()
    this.#pump()
    // An earlier owner has settled them all: no record ends here that would have them committed.
    if (runs.length === 0) this.#deps.changed(this.#batch !== undefined)
  }

  #pushEach(lanes: WorkLanes, { records, distance, slice }: HandedOver): void {
    const { place, runtime } = this.#deps
    for (const [index, record] of records.entries()) {
      const work = new Work(record, this.#place, slice, distance + index)
      if (place.kind === 'TIER') work.dueAt = dueAtOf(work, place.delayMs, runtime.clock)
      lanes.push(work)
    }
  }

  polled(): void {
    this.#account.count()
    if (this.#batch !== undefined) this.#pump() // Nobody else sees that a write has failed and its batch stands still.
    const position = this.#isOpened && this.#scope.isRunning ? this.#deps.consumer.position(this.#at) : undefined
    if (position === undefined || !this.#account.reached(position)) return
    this.#deps.changed(this.#batch !== undefined) // No batch ends here, and no poll commits for it.
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#scope.beginDraining()
    this.#forgetQueued()
    await this.#scope.drained(
      this.#deps.runtime.timers,
      deadlineMs,
      () => this.#runningCount + this.#mover.unconfirmed === 0,
    )
  }

  lose(): void {
    this.#account.count()
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
    const state = this.#isOpened && !this.#scope.isEnded ? this.#account.pending() : undefined
    if (state === undefined) return undefined
    return [{ ...this.#at, epoch: this.epoch, offset: state.position, metadata: encodeCommitMetadata(state) }]
  }

  committed([commit]: readonly OffsetCommit[]): void {
    if (commit === undefined || this.#scope.isEnded) return
    if (!this.#account.acknowledged(commit.offset)) return
    if (this.#commitWaiter !== undefined && commit.offset > this.#commitWaiter.offset) this.#endCommitWait()
    this.#pump()
  }

  repeatCommit(): void {
    this.#account.repeat()
  }

  positionLost(continuesAt: bigint): void {
    const from = readAgainFrom(this.#account, continuesAt)
    if (from === undefined) return
    this.#forgetQueued()
    this.#backpressure.apply()
    this.#era++
    this.#begin(new Ledger(ledgerStateAt(from)))
    this.#endCommitWait()
    if (from < continuesAt) this.#deps.consumer.seek(this.#at, from)
    this.#account.repeat() // What the group has may lie behind the end of the log: whoever owns it next goes on there.
    this.#deps.changed(true)
  }

  status(): PartitionStatus {
    return {
      ...this.#at,
      epoch: this.epoch,
      watermark: this.#account.watermark,
      committed: this.#account.committed,
      buffered: this.#lanes.size,
      running: this.#runningCount,
      unconfirmed: this.#mover.unconfirmed,
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

  get #runningCount(): number {
    return this.#batch?.running ?? this.#running.size
  }

  /** Those that run are in the order of their starts. */
  #runningSince(): number | undefined {
    if (this.#batch !== undefined) return this.#batch.runningSince
    for (const { startedAt } of this.#running) if (startedAt !== undefined) return startedAt
    return undefined
  }

  #endCommitWait(): void {
    this.#commitWaiter?.resolve()
    this.#commitWaiter = undefined
  }

  #begin(ledger: Ledger): void {
    this.#account.begin(ledger)
    this.#batch?.reset()
  }

  #forgetQueued(): void {
    this.#lanes.clear()
    this.#backpressure.forget()
    this.#deps.slots.forget(this.#wake)
    this.#delay.end()
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
    if (!this.#scope.isRunning || this.#isHalted()) return false
    this.#lookedAt = this.#deps.runtime.clock.monotonic()
    if (this.#batch?.mayGoOn(this.#lookedAt) === false) return false
    const next = this.#lanes.peek(this.#lookedAt)
    if (next !== undefined && next.distance < this.#account.startLimit) return true
    this.#wait(next)
    return false
  }

  #isHalted(): boolean {
    if (!this.#pauses.isHalted) return false
    this.#batch?.endEarly()
    return true
  }

  /** For an acknowledgement, or for time to pass. @param next - the record that is too far ahead, if it is that */
  #wait(next: Work | undefined): void {
    if (next !== undefined) this.#deps.changed(true)
    if (this.#usesTime) this.#delay.until(this.#lanes.nextDueAt())
  }

  /** Runs records on one slot until it is wanted elsewhere or nothing may start. Never rejects. */
  async #run(): Promise<void> {
    const { slots, delivery, batchDelivery, fail } = this.#deps
    try {
      do {
        if (batchDelivery !== undefined && this.#batch !== undefined) {
          await this.#batch.call(batchDelivery, this.#scope, this.#account.startLimit, this.#lookedAt)
          continue
        }
        const work = this.#start()
        try {
          const outcome = await delivery.deliver(work, this.#scope)
          work.startedAt = undefined // What it waits for from here on is not its handler.
          const settled = this.#settle(work, outcome)
          if (settled !== undefined) await settled
        } finally {
          if (this.#batch === undefined) this.#running.delete(work)
          else this.#batch.callEnded()
        }
      } while (!slots.isContended && this.#hasStartable())
    } catch (error) {
      fail(error)
    }
    slots.release()
    this.#scope.look()
    this.#pump()
  }

  #batchRecords(): BatchRecords {
    return {
      isCommitted: () => this.#account.isCommitted,
      mayStart: () => !this.#pauses.isHalted,
      started: (batch) => this.#startedAll(batch),
      settleAll: (batch) => this.#settleAll(batch),
      settle: (work, outcome) => this.#settle(work, outcome),
      putBack: (work) => this.#putBack(work),
    }
  }

  #startedAll({ first, records }: Batch): void {
    this.#started(first, bytesOf(records))
  }

  #start(): Work {
    const work = this.#lanes.take(this.#lookedAt) as Work
    this.#batch?.started(work, this.#lookedAt)
    this.#started(work, work.bytes)
    return work
  }

  #started(work: Work, bytes: number): void {
    work.startedAt = this.#lookedAt
    if (this.#batch === undefined) this.#running.add(work)
    this.#backpressure.taken(bytes)
  }

  /** As {@link #settle} of each, at the price of one. */
  #settleAll(batch: Batch): void {
    if (this.#scope.isEnded) return
    this.#lanes.done(batch.first)
    if (batch.first.slice.era !== this.#era) return
    this.#batch?.ended(batch.size)
    this.#account.settleAll(batch)
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
        return this.#move(work, outcome)
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
    this.#tell(work)
    return undefined
  }

  /** Something is settled. A batch is committed when it is over, not by its records. */
  #tell(work: Work): void {
    if (this.#batch === undefined) this.#deps.changed(this.#account.isUrgent(work))
  }

  async #whenCommitted(work: Work): Promise<void> {
    const committed = new Promise<void>((resolve) => {
      this.#commitWaiter = { offset: work.offset, resolve }
    })
    this.#deps.changed(true)
    await committed
    this.#lanes.done(work)
  }

  #move(work: Work, outcome: Moved): Promise<void> | undefined {
    const moved = this.#moved(work, this.#mover.move(work, outcome))
    if (this.#waitsForCommit) return moved
    // The slot is free: a topic that takes nothing must not keep other partitions from their handlers (L2). So is the
    // lane, but with STRICT: the ledger waits for the confirmation, not the next record (D20).
    if (this.#waitsForConfirmation) moved.then(this.#wake).catch(this.#deps.fail)
    else {
      this.#lanes.done(work)
      moved.catch(this.#deps.fail)
    }
    return undefined
  }

  async #moved(work: Work, confirmed: Promise<MovedAs | undefined>): Promise<void> {
    const as = await confirmed
    if (as === undefined || this.#scope.isEnded) return
    if (work.slice.era !== this.#era) {
      if (this.#waitsForConfirmation) this.#lanes.done(work)
      return
    }
    if (this.#waitsForConfirmation) {
      await this.#finish(work, as)
      return
    }
    this.#note(work, as)
    this.#tell(work)
    if (this.#batch !== undefined) this.#pump()
  }

  #note(work: Work, as: Settlement): void {
    this.#account.settle(work, as)
    this.#batch?.ended(1)
  }

  /** The record stays where it is. */
  #keep(work: Work, outcome: Extract<Outcome, { kind: 'PAUSE' }>): void {
    work.dueAt = applyPause(work, outcome, this.#pauses, this.#deps) ?? work.dueAt
    this.#putBack(work)
  }

  #putBack(work: Work): void {
    if (this.#scope.isEnded || work.slice.era !== this.#era) return // As with any late result (D7).
    this.#batch?.stays()
    this.#lanes.putBack(work)
    if (this.#scope.isRunning) this.#backpressure.added(work.bytes)
    else this.#lanes.clear()
  }
}
