/**
 * Runs a partition's records in their lanes and keeps the ledger of settled offsets. A paused record stays in memory at the
 * head of its lane. Neither a pause nor a failure rewinds the partition, so neither repeats a record; only a log that was
 * cut is read again.
 *
 *     accepted ──▶ queued in its lane ──▶ delivered ──▶ DONE, SKIP ──────────────────▶ settled ──▶ committed
 *                       ▲                     ├───────▶ RETRY, DEAD_LETTER ─ confirmed ──▲
 *                       └──────── PAUSE ──────┘
 *
 * | event | record | partition |
 * |---|---|---|
 * | the circuit is open | back to its lane | halted until the breaker lets calls through |
 * | a retry or dead letter record is not confirmed | unsettled, published again | halted until it is confirmed |
 * | the buffer is full | in its lane | not fetched |
 * | too far ahead of the acknowledged commit | in its lane | a commit is requested |
 * | BATCH: a batch is over | failed records are back in their lane | waits until the batch is settled and committed |
 * | the log was cut | buffered records are forgotten, and the rest of the log is read again | counts anew from there |
 * | revoked | running records may complete; queued records are forgotten | drained, committed, ended |
 * | lost | late results change nothing | ended at once |
 */

import type { KafkaRecord } from '@waybill/kafka'
import type { OffsetCommit, OversizedBatchError } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../../api/binding-view.ts'
import type { PauseReason } from '../../api/pause-reason.ts'
import type { Batch, HandedOver } from '../../delivery/batch.ts'
import { FirstAttempt, type HandlerFailure } from '../../delivery/invoke.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import { encodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt } from '../../ledger/ledger.ts'
import { readAgainFrom } from '../../ledger/read-again-from.ts'
import { bytesOf } from '../backpressure.ts'
import { PartitionShell } from '../partition-shell.ts'
import type { PartitionWorker, WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
import { BatchLane } from './batch-lane.ts'
import { type BatchPace, batchPaceOf } from './batch-pace.ts'
import { type BatchRecords, BatchRun } from './batch-run.ts'
import { createLanes, type Lanes, type WorkLanes } from './lanes.ts'
import { OversizedBatches } from './oversized-batches.ts'
import { PartitionAccount } from './partition-account.ts'
import { RecordSettler } from './record-settler.ts'
import { RunningWorks } from './running-works.ts'

/** The worker of a partition whose order needs no waiting topic. */
export class LaneWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly #deps: WorkerDeps
  readonly #shell: PartitionShell
  readonly #scope: WorkerScope
  readonly #lanes: Lanes
  readonly #push: (run: HandedOver) => void
  /** Running records, except those of a batch. */
  readonly #running = new RunningWorks()
  readonly #account: PartitionAccount
  readonly #settler: RecordSettler
  readonly #oversized: OversizedBatches
  /** Set on the source of a BATCH binding. In a tier, records have their own due times and run one by one. */
  readonly #batch: BatchRun | undefined
  /** Bytes of the batch that runs with one call. */
  #batchBytes = 0
  readonly #usesTime: boolean
  /** True once the commit was read. Nothing may be committed before. */
  #isOpened = false
  /** Monotonic time of the last check. The records it finds start in the same turn, so it is their start time. */
  #lookedAt = 0

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
    this.#oversized = new OversizedBatches(deps, this.#shell, this.#account)
    if (binding.listenerType === 'BATCH' && place.kind === 'SOURCE') {
      const lane = new BatchLane(this.#shell.place)
      const pace = batchPaceOf(binding)
      this.#lanes = lane
      this.#push = (run) => lane.push(run)
      this.#settler = this.#createSettler(pace)
      this.#batch = new BatchRun(lane, pace, this.#batchRecords(), deps)
    } else {
      const lanes = createLanes(binding.parallelism)
      this.#lanes = lanes
      this.#push =
        place.kind === 'TIER' ? (run) => this.#pushEach(lanes, run) : (run) => lanes.pushRun(run, this.#shell.place)
      this.#settler = this.#createSettler(undefined)
    }
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
    const slice = this.#shell.slice(records)
    const runs = this.#account.fetched(records)
    for (const run of runs) {
      backpressure.added(bytesOf(run.records))
      this.#push({ ...run, slice })
    }
    backpressure.apply()
    this.#pump()
    // A previous owner settled all of them: no record completes here that would trigger the commit.
    if (runs.length === 0) this.#deps.changed(this.#batch !== undefined)
  }

  /** Queues records of a tier, which have due times. */
  #pushEach(lanes: WorkLanes, { records, distance, slice }: HandedOver): void {
    for (const [index, record] of records.entries()) lanes.push(this.#shell.workOf(record, slice, distance + index))
  }

  polled(): void {
    this.#account.count()
    if (this.#batch !== undefined) this.#pump() // A batch that is blocked by a failed write has no other trigger.
    const position = this.#isOpened && this.#scope.isRunning ? this.#deps.consumer.position(this.#shell.at) : undefined
    if (position === undefined || !this.#account.reached(position)) return
    this.#deps.changed(this.#batch !== undefined) // No batch completes here that would trigger the commit.
  }

  async drain(deadlineMs: number): Promise<void> {
    await this.#shell.drain(deadlineMs, () => this.#runningCount + this.#unconfirmed === 0)
  }

  lose(): void {
    this.#account.count()
    this.#shell.lose()
    this.#settler.endCommitWait()
  }

  pause(reason: PauseReason): void {
    this.#shell.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#shell.resume(reason)
  }

  condemn(offset: bigint): boolean {
    return this.#shell.condemn(this.#lanes.heads(), offset)
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    const state = this.#isOpened && !this.#scope.isEnded ? this.#account.pending() : undefined
    if (state === undefined) return undefined
    return [{ ...this.#shell.at, epoch: this.epoch, offset: state.position, metadata: encodeCommitMetadata(state) }]
  }

  committed([commit]: readonly OffsetCommit[]): void {
    if (commit === undefined || this.#scope.isEnded) return
    if (!this.#account.acknowledged(commit.offset)) return
    this.#settler.committed(commit.offset)
    this.#pump()
  }

  repeatCommit(): void {
    this.#account.repeat()
  }

  oversized(error: OversizedBatchError): void {
    if (this.#deps.binding.oversizedBatch === 'DEAD_LETTER') this.#oversized.found(error)
  }

  positionLost(continuesAt: bigint): void {
    const from = readAgainFrom(this.#account, continuesAt)
    if (from === undefined) return
    this.#shell.cut()
    this.#oversized.forget()
    this.#begin(new Ledger(ledgerStateAt(from)))
    this.#settler.endCommitWait()
    if (from < continuesAt) this.#deps.consumer.seek(this.#shell.at, from)
    this.#account.repeat() // The committed offset may lie beyond the end of the log, where the next owner would start.
    this.#deps.changed(true)
  }

  status(): PartitionStatus {
    return this.#shell.status({
      watermark: this.#account.watermark,
      committed: this.#account.committed,
      buffered: this.#lanes.size,
      running: this.#runningCount,
      unconfirmed: this.#unconfirmed,
      waiting: 0,
      runningSince: this.#runningSince(),
    })
  }

  get #unconfirmed(): number {
    return this.#settler.unconfirmed + this.#oversized.unconfirmed
  }

  get #runningCount(): number {
    return this.#batch?.running ?? this.#running.size
  }

  /** Running records are in the order of their starts. */
  #runningSince(): number | undefined {
    if (this.#batch !== undefined) return this.#batch.runningSince
    for (const { startedAt } of this.#running) if (startedAt !== undefined) return startedAt
    return undefined
  }

  #begin(ledger: Ledger): void {
    this.#account.begin(ledger)
    this.#batch?.reset()
  }

  /** Starts the records that may start. */
  #pump(): void {
    const { slots } = this.#deps
    this.#oversized.moveIfReady()
    while (this.#hasStartable()) {
      if (!slots.tryTake()) {
        slots.whenFree(this.#shell.wake)
        return
      }
      void this.#run()
    }
  }

  /** @param now - monotonic, if it was read in this turn: reading the clock costs as much as starting a record */
  #hasStartable(now?: number): boolean {
    if (!this.#scope.isRunning || this.#isHalted()) return false
    this.#lookedAt = now ?? this.#deps.runtime.clock.monotonic()
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

  /** Waits for an acknowledgement, or for time to pass. @param next - a record that is too far ahead, if any */
  #wait(next: Work | undefined): void {
    if (next !== undefined) this.#deps.changed(true)
    if (this.#usesTime) this.#shell.delay.until(this.#lanes.nextDueAt())
  }

  /** Runs records on one slot until another partition needs it or none may start. Never rejects. */
  async #run(): Promise<void> {
    const { slots, delivery, batchDelivery, fail } = this.#deps
    let now: number | undefined
    try {
      do {
        now = undefined
        if (batchDelivery !== undefined && this.#batch !== undefined) {
          await this.#batch.call(batchDelivery, this.#scope, this.#account.startLimit, this.#lookedAt)
          continue
        }
        const work = this.#start()
        try {
          const begun = delivery.begin(work, this.#scope)
          let failure: HandlerFailure | undefined
          let outcome: Outcome
          if (begun instanceof FirstAttempt) {
            // Awaited here, not in a function of its own: each promise between the handler and this loop costs a record.
            try {
              await begun.running
            } catch (error) {
              failure = { error }
            }
            const ended = delivery.end(work, begun, failure)
            if (ended instanceof Promise) outcome = await ended
            else {
              outcome = ended
              now = begun.endedAt
            }
          } else outcome = await begun
          work.startedAt = undefined // The handler is done; settling does not count as a slow call.
          const settled = this.#settler.settle(work, outcome)
          if (settled !== undefined) {
            await settled
            now = undefined
          }
        } finally {
          if (this.#batch === undefined) this.#running.delete(work)
          else this.#batch.callEnded()
          this.#shell.ended(work.bytes)
        }
      } while (!slots.isContended && this.#hasStartable(now))
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
      started: (batch) => this.#startedAll(batch),
      ended: () => this.#shell.ended(this.#batchBytes),
      settleAll: (batch) => this.#settler.settleAll(batch),
      settle: (work, outcome) => this.#settler.settle(work, outcome),
      putBack: (work) => this.#settler.putBack(work),
    }
  }

  #createSettler(pace: BatchPace | undefined): RecordSettler {
    return new RecordSettler({
      worker: this.#deps,
      shell: this.#shell,
      lanes: this.#lanes,
      account: this.#account,
      pace,
    })
  }

  #startedAll({ first, records }: Batch): void {
    this.#batchBytes = bytesOf(records)
    this.#started(first, this.#batchBytes)
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
    this.#shell.backpressure.started(bytes)
  }
}
