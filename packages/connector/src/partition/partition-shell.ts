/**
 * State and lifecycle that all partition workers share: how a partition is opened, paused, drained and ended, what it
 * buffers, and which results are stale. A worker composes a shell and adds how its records run and settle.
 */

import type { KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { CommittedOffset } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../api/binding-view.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { type Slice, Work, type WorkPlace } from '../delivery/work.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { Backpressure } from './backpressure.ts'
import { DelayWait } from './delay-wait.ts'
import { DerivedWrites } from './derived-writes.ts'
import { dueAtOf } from './due-at.ts'
import type { WorkerDeps } from './partition-worker.ts'
import { PauseSet } from './pause-set.ts'
import { RecordTimes } from './record-times.ts'
import { WorkerScope } from './worker-scope.ts'

/** The part of a worker that its shell calls. */
export interface ShellHooks {
  /** Starts the records that may start. */
  pump(): void
  /** Forgets the records that have not started. */
  clearQueued(): void
  /** Returns the number of records that have not started. */
  buffered(): number
}

/** The part of a status that only the worker knows. */
export type WorkerStatus = Omit<
  PartitionStatus,
  'topic' | 'partition' | 'epoch' | 'unsettledTimestamp' | 'pausedBy' | 'trouble'
>

/** See the file's comment. */
export class PartitionShell {
  /** The partition it works on, of the source or of a tier. */
  readonly at: TopicPartition
  readonly place: WorkPlace
  readonly pauses: PauseSet
  readonly scope: WorkerScope = new WorkerScope(() => this.pauses.isHalted)
  readonly backpressure: Backpressure
  readonly writes: DerivedWrites
  readonly delay: DelayWait
  /** Calls the worker's pump. Always the same function: slots identify the waiting worker by it. */
  readonly wake: () => void
  readonly #deps: WorkerDeps
  readonly #hooks: ShellHooks
  /** The reason why nothing of the partition may run, even after a resume. */
  #refusal: Error | undefined
  readonly #times = new RecordTimes()
  #era = 0

  constructor(deps: WorkerDeps, hooks: ShellHooks) {
    const { binding, place, partition, consumer, consumerInstance } = deps
    this.#deps = deps
    this.#hooks = hooks
    this.at = { topic: place.topic, partition }
    this.place = { kind: place.kind, tier: place.tier, groupId: binding.groupId, consumerInstance }
    this.wake = () => hooks.pump()
    this.pauses = new PauseSet((isPaused) => (isPaused ? consumer.pause([this.at]) : consumer.resume([this.at])))
    this.backpressure = new Backpressure(this.pauses, binding, () => hooks.buffered())
    this.writes = new DerivedWrites(deps, this.pauses, this.scope, this.wake)
    this.delay = new DelayWait(deps, this.pauses, this.wake)
  }

  /**
   * Opens the ledger that continues a commit. If the commit names records in a waiting topic that this binding no longer
   * reads, it must stay as it is: nothing of the partition may run, and other partitions continue (L2).
   */
  openLedger(committed: CommittedOffset | undefined): { readonly ledger: Ledger; readonly mayRun: boolean } {
    const { consumer, unaccounted, runtime } = this.#deps
    const position = consumer.position(this.at) ?? committed?.offset ?? 0n
    const { ledger, problem, refusal } = openLedger(committed, position)
    if (problem !== undefined) unaccounted(problem)
    if (refusal !== undefined) {
      this.#refusal = refusal
      this.pauses.add('EXHAUSTED')
      runtime.logger.error({ ...this.at, err: refusal }, 'Partition not started')
    }
    return { ledger, mayRun: refusal === undefined }
  }

  /** Notes that records do not run any more. */
  ended(bytes: number): void {
    this.backpressure.ended(bytes, this.scope.isRunning)
  }

  /** Starts a slice: records that are delivered together have one start time. */
  slice(records: readonly KafkaRecord[] = []): Slice {
    if (records[0]?.topic === this.at.topic) this.#times.fetched(records)
    const now = this.#deps.runtime.clock.monotonic()
    return { handedOverAt: now, startedAt: now, era: this.#era }
  }

  workOf(record: KafkaRecord, slice: Slice, distance: number): Work {
    const { place, runtime } = this.#deps
    const work = new Work(record, this.place, slice, distance)
    if (place.kind === 'TIER') work.dueAt = dueAtOf(work, place.delayMs, runtime.clock)
    return work
  }

  /** Starts another era, of a log that was cut or is counted anew. Results of the one before are stale. */
  startEra(): void {
    this.#era++
    this.#times.clear()
  }

  /** Forgets the records of a log that was cut: their offsets mean other records now. */
  cut(): void {
    this.forgetQueued()
    this.backpressure.apply()
    this.startEra()
  }

  /** Returns false for a record of a log that was cut since: its late result changes nothing. */
  isOfEra({ slice }: Work): boolean {
    return slice.era === this.#era
  }

  pause(reason: PauseReason): void {
    this.pauses.add(reason)
    if (reason === 'OPERATOR') this.scope.pause()
  }

  resume(reason: PauseReason): void {
    if (this.#refusal !== undefined && reason === 'EXHAUSTED') return
    if (reason === 'OPERATOR') this.scope.resume()
    if (this.pauses.remove(reason)) this.#hooks.pump()
  }

  /** Condemns the record at an offset if it is one of these, and delivers it. */
  condemn(heads: readonly Work[], offset: bigint): boolean {
    if (!this.scope.isRunning) return false
    const isCondemned = heads.find((work) => work.offset === offset)?.condemn() === true
    if (isCondemned) this.#hooks.pump()
    return isCondemned
  }

  /** Resolves when `isIdle` returns true, or after the deadline, which aborts the handlers. */
  drain(deadlineMs: number, isIdle: () => boolean): Promise<void> {
    this.scope.beginDraining()
    this.forgetQueued()
    return this.scope.drained(this.#deps.runtime.timers, deadlineMs, isIdle)
  }

  /** Ends the partition at once. */
  lose(): void {
    this.scope.end()
    this.forgetQueued()
  }

  /** Forgets what has not started, and every wait to start it. */
  forgetQueued(): void {
    this.#hooks.clearQueued()
    this.backpressure.forget()
    this.#deps.slots.forget(this.wake)
    this.delay.end()
  }

  status(of: WorkerStatus): PartitionStatus {
    return {
      ...this.at,
      epoch: this.#deps.epoch,
      ...of,
      unsettledTimestamp: this.#times.at(of.watermark),
      pausedBy: this.pauses.reasons,
      trouble: this.#refusal?.message ?? this.writes.trouble,
    }
  }
}
