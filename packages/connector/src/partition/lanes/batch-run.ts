/**
 * Runs a partition's records in batches: decides when the next one may start, and delivers it through a single call if
 * the binding has a batch handler. BatchPace decides how batches are cut; the worker owns records and ledger.
 */

import type { Batch } from '../../delivery/batch.ts'
import type { BatchDelivery } from '../../delivery/batch-delivery.ts'
import type { DeliveryScope } from '../../delivery/delivery-scope.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { BatchLane } from './batch-lane.ts'
import type { BatchPace } from './batch-pace.ts'

/** The part of the worker that a batch needs. */
export interface BatchRecords {
  /** Returns true when the coordinator has acknowledged everything that is settled. */
  isCommitted(): boolean
  /** Notes records that start with one call. */
  started(batch: Batch): void
  /** Notes that the call with these records is over. */
  ended(): void
  /** Settles records whose handler succeeded for all of them. */
  settleAll(batch: Batch): void
  /** @returns the wait before the next record is settled, if there is one */
  settle(work: Work, outcome: Outcome): Promise<void> | undefined
  /** Returns a record to its lane: it starts the next batch, or is behind the one that does. */
  putBack(work: Work): void
}

/** See the file's comment. */
export class BatchRun {
  readonly #lane: BatchLane
  readonly #records: BatchRecords
  readonly #deps: Pick<WorkerDeps, 'binding' | 'telemetry' | 'changed'>
  readonly #pace: BatchPace
  /** The record that runs, or the first of a call of the batch handler, and the number of others in that call. */
  #called: Work | undefined
  #calledWith = 0

  constructor(
    lane: BatchLane,
    pace: BatchPace,
    records: BatchRecords,
    deps: Pick<WorkerDeps, 'binding' | 'telemetry' | 'changed'>,
  ) {
    this.#lane = lane
    this.#pace = pace
    this.#records = records
    this.#deps = deps
  }

  /** Records whose handler runs. */
  get running(): number {
    return this.#called === undefined ? 0 : 1 + this.#calledWith
  }

  /** Monotonic; undefined while no handler runs. */
  get runningSince(): number | undefined {
    return this.#called?.startedAt
  }

  /** Closes the batch: settled records must not wait for a pause that may take hours. */
  endEarly(): void {
    this.#pace.close()
    if (!this.#records.isCommitted()) this.#deps.changed(true)
  }

  /** Returns false between two batches. @param now - monotonic */
  mayGoOn(now: number): boolean {
    if (this.#pace.isOverdue(now)) {
      this.#deps.telemetry.safetyTriggered()
      this.#pace.close()
    }
    return !this.#pace.isClosed || this.#mayBeginNext()
  }

  #mayBeginNext(): boolean {
    if (!this.#pace.isSettled) return false
    if (this.#records.isCommitted()) {
      this.#pace.reset()
      return true
    }
    this.#deps.changed(true)
    return false
  }

  /** Notes a record that runs alone. @param now - monotonic */
  started(work: Work, now: number): void {
    this.#called = work
    if (this.#pace.isIdle) this.#pace.begin(Math.min(this.#lane.size + 1, this.#deps.binding.maxPollRecords), now)
    this.#pace.started()
    work.slice.startedAt = this.#pace.startedAt
  }

  /** Notes that the call is over. */
  callEnded(): void {
    this.#called = undefined
    this.#calledWith = 0
  }

  /** Forgets the batch of a log that was cut. */
  reset(): void {
    this.#pace.reset()
  }

  /**
   * Delivers a batch through one call, or through more if it fails.
   * @param limit - a distance: records from there on do not start
   * @param now - monotonic
   */
  async call(batchDelivery: BatchDelivery, scope: DeliveryScope, limit: number, now: number): Promise<void> {
    const batch = this.#startAll(limit, now)
    const { first } = batch
    this.#called = first
    this.#calledWith = batch.size - 1
    let rest: (() => void) | undefined
    try {
      const outcomes = await batchDelivery.deliver(batch, scope)
      first.startedAt = undefined
      if (outcomes === 'DONE') this.#records.settleAll(batch)
      else rest = await this.#settle(batch.works, outcomes)
    } finally {
      this.callEnded()
      this.#records.ended()
    }
    rest?.() // Back in their lane they may start before this returns, and would run twice.
  }

  #startAll(limit: number, now: number): Batch {
    const batch = this.#lane.takeUpTo(this.#deps.binding.maxPollRecords, limit, now) as Batch // The worker saw its head.
    this.#pace.startedAll(batch.size, now)
    for (const slice of batch.slices) slice.startedAt = now
    this.#records.started(batch)
    return batch
  }

  /** Settles records up to the first that stays. @returns a function that puts it and all behind it back */
  async #settle(works: readonly Work[], outcomes: readonly Outcome[]): Promise<() => void> {
    const staying = outcomes.findIndex(({ kind }) => kind === 'PAUSE')
    const end = staying < 0 ? works.length : staying
    for (let index = 0; index < end; index++) {
      const settled = this.#records.settle(works[index] as Work, outcomes[index] as Outcome)
      if (settled !== undefined) await settled
    }
    return () => {
      for (let index = works.length - 1; index > end; index--) {
        const [work, outcome] = [works[index] as Work, outcomes[index] as Outcome]
        if (outcome.kind === 'PAUSE' && outcome.failure !== undefined) work.failed(outcome.failure)
        this.#records.putBack(work)
      }
      if (staying >= 0) void this.#records.settle(works[end] as Work, outcomes[end] as Outcome)
    }
  }
}
