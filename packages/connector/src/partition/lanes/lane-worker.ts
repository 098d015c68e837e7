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
import type { KafkaRecord } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../../api/binding-view.ts'
import type { PauseReason } from '../../api/pause-reason.ts'
import type { Batch, HandedOver } from '../../delivery/batch.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import { encodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt, type Settlement } from '../../ledger/ledger.ts'
import { readAgainFrom } from '../../ledger/read-again-from.ts'
import { applyPause } from '../apply-pause.ts'
import { bytesOf } from '../backpressure.ts'
import { PartitionShell } from '../partition-shell.ts'
import type { PartitionWorker, WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
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
  readonly #shell: PartitionShell
  readonly #scope: WorkerScope
  readonly #lanes: Lanes
  readonly #push: (run: HandedOver) => void
  /** But for those of a batch, which knows what runs. */
  readonly #running = new Set<Work>()
  readonly #mover: RecordMover
  readonly #account: PartitionAccount
  /** Of the source with BATCH. In a tier each record is due at a time of its own, and is a batch of its own. */
  readonly #batch: BatchRun | undefined
  /** One lane, and each record waits until the one before it is committed. */
  readonly #waitsForCommit: boolean
  /** A lane is free again only when the retry or dead letter record is confirmed. */
  readonly #waitsForConfirmation: boolean
  readonly #usesTime: boolean
  /** What was committed is read. Before that nothing is known that could be committed. */
  #isOpened = false
  /** Monotonic: when it was last asked what may start, which starts in the same turn. */
  #lookedAt = 0
  #commitWaiter: { readonly offset: bigint; readonly resolve: () => void } | undefined

  constructor(deps: WorkerDeps) {
    const { binding, place, partition, epoch } = deps
    this.#deps = deps
    this.partition = partition
    this.epoch = epoch
    this.#shell = new PartitionShell(deps, {
      pump: () => this.#pump(),
      clearQueued: () => this.#lanes.clear(),
      buffered: () => this.#lanes.size,
    })
    this.#scope = this.#shell.scope
    this.#account = new PartitionAccount(this.#shell.at, binding.maxAhead, deps.telemetry)
    this.#mover = new RecordMover(deps, this.#shell.writes, this.#scope)
    const isBatch = binding.listenerType === 'BATCH' && place.kind === 'SOURCE'
    if (isBatch) {
      const lane = new BatchLane(this.#shell.place)
      this.#lanes = lane
      this.#push = (run) => lane.push(run)
      this.#batch = new BatchRun(lane, this.#batchRecords(), deps)
    } else {
      const lanes = createLanes(binding.parallelism)
      this.#lanes = lanes
      this.#push = (run) => this.#pushEach(lanes, run)
    }
    this.#waitsForCommit = !isBatch && binding.ackMode === 'MANUAL_IMMEDIATE' && binding.parallelism === 'PARTITION'
    this.#waitsForConfirmation = this.#waitsForCommit || binding.orderingMode === 'STRICT'
    this.#usesTime = place.kind === 'TIER' || binding.failureProfile === 'BLOCKING_UNLIMITED'
  }

  async open(): Promise<void> {
    const [committed] = await this.#deps.consumer.committed([this.#shell.at])
    if (this.#scope.isEnded) return
    const { ledger, mayRun } = this.#shell.openLedger(committed)
    this.#begin(ledger)
    this.#isOpened = mayRun
  }

  accept(records: readonly KafkaRecord[]): void {
    if (!this.#scope.isRunning) return
    const { backpressure } = this.#shell
    const slice = this.#shell.slice()
    const runs = this.#account.fetched(records)
    for (const run of runs) {
      backpressure.added(bytesOf(run.records))
      this.#push({ ...run, slice })
    }
    backpressure.apply()
    this.#pump()
    // An earlier owner has settled them all: no record ends here that would have them committed.
    if (runs.length === 0) this.#deps.changed(this.#batch !== undefined)
  }

  #pushEach(lanes: WorkLanes, { records, distance, slice }: HandedOver): void {
    for (const [index, record] of records.entries()) lanes.push(this.#shell.workOf(record, slice, distance + index))
  }

  polled(): void {
    this.#account.count()
    if (this.#batch !== undefined) this.#pump() // Nobody else sees that a write has failed and its batch stands still.
    const position = this.#isOpened && this.#scope.isRunning ? this.#deps.consumer.position(this.#shell.at) : undefined
    if (position === undefined || !this.#account.reached(position)) return
    this.#deps.changed(this.#batch !== undefined) // No batch ends here, and no poll commits for it.
  }

  async drain(deadlineMs: number): Promise<void> {
    await this.#shell.drain(deadlineMs, () => this.#runningCount + this.#mover.unconfirmed === 0)
  }

  lose(): void {
    this.#account.count()
    this.#shell.lose()
    this.#endCommitWait()
  }

  pause(reason: PauseReason): void {
    this.#shell.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#shell.resume(reason)
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    const state = this.#isOpened && !this.#scope.isEnded ? this.#account.pending() : undefined
    if (state === undefined) return undefined
    return [{ ...this.#shell.at, epoch: this.epoch, offset: state.position, metadata: encodeCommitMetadata(state) }]
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
    this.#shell.cut()
    this.#begin(new Ledger(ledgerStateAt(from)))
    this.#endCommitWait()
    if (from < continuesAt) this.#deps.consumer.seek(this.#shell.at, from)
    this.#account.repeat() // What the group has may lie behind the end of the log: whoever owns it next goes on there.
    this.#deps.changed(true)
  }

  status(): PartitionStatus {
    return this.#shell.status({
      watermark: this.#account.watermark,
      committed: this.#account.committed,
      buffered: this.#lanes.size,
      running: this.#runningCount,
      unconfirmed: this.#mover.unconfirmed,
      waiting: 0,
      runningSince: this.#runningSince(),
    })
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

  /** Starts what may start. */
  #pump(): void {
    const { slots } = this.#deps
    while (this.#hasStartable()) {
      if (!slots.tryTake()) {
        slots.whenFree(this.#shell.wake)
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
    if (!this.#shell.pauses.isHalted) return false
    this.#batch?.endEarly()
    return true
  }

  /** For an acknowledgement, or for time to pass. @param next - the record that is too far ahead, if it is that */
  #wait(next: Work | undefined): void {
    if (next !== undefined) this.#deps.changed(true)
    if (this.#usesTime) this.#shell.delay.until(this.#lanes.nextDueAt())
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
      mayStart: () => !this.#shell.pauses.isHalted,
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
    this.#shell.backpressure.taken(bytes)
  }

  /** As {@link #settle} of each, at the price of one. */
  #settleAll(batch: Batch): void {
    if (this.#scope.isEnded) return
    this.#lanes.done(batch.first)
    if (!this.#shell.isOfEra(batch.first)) return
    this.#batch?.ended(batch.size)
    this.#account.settleAll(batch)
  }

  #settle(work: Work, outcome: Outcome): Promise<void> | undefined {
    // A late result of an old assignment, or of a log that was cut, changes nothing (D7).
    if (this.#scope.isEnded) return undefined
    if (!this.#shell.isOfEra(work)) {
      this.#lanes.done(work)
      return undefined
    }
    const { telemetry } = this.#deps
    switch (outcome.kind) {
      case 'DONE':
        return this.#finish(work, 'OK')
      case 'SKIP':
        telemetry.skipped(this.#shell.at.topic, outcome.cause)
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
    if (this.#waitsForConfirmation) moved.then(this.#shell.wake).catch(this.#deps.fail)
    else {
      this.#lanes.done(work)
      moved.catch(this.#deps.fail)
    }
    return undefined
  }

  async #moved(work: Work, confirmed: Promise<MovedAs | undefined>): Promise<void> {
    const as = await confirmed
    if (as === undefined || this.#scope.isEnded) return
    if (!this.#shell.isOfEra(work)) {
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
    work.dueAt = applyPause(work, outcome, this.#shell.pauses, this.#deps) ?? work.dueAt
    this.#putBack(work)
  }

  #putBack(work: Work): void {
    if (this.#scope.isEnded || !this.#shell.isOfEra(work)) return // As with any late result (D7).
    this.#batch?.stays()
    this.#lanes.putBack(work)
    if (this.#scope.isRunning) this.#shell.backpressure.added(work.bytes)
    else this.#lanes.clear()
  }
}
