/**
 * Runs a partition's records in batches: when the next one may begin, and all of one through a single call where the
 * handler takes many. How batches are cut is decided by BatchPace; records and the ledger are the worker's.
 */

import type { Batch } from '../../delivery/batch.ts'
import type { BatchDelivery } from '../../delivery/batch-delivery.ts'
import type { DeliveryScope } from '../../delivery/delivery-deps.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { BatchLane } from './batch-lane.ts'
import type { BatchPace } from './batch-pace.ts'

/** What a batch asks of the worker whose records it is made of. */
export interface BatchRecords {
  /** True when everything that is settled is acknowledged by the coordinator. */
  isCommitted(): boolean
  /** False while the partition is paused: nothing more of it may start. */
  mayStart(): boolean
  /** These start with one call. */
  started(batch: Batch): void
  /** The handler succeeded for all of them. */
  settleAll(batch: Batch): void
  /** @returns what to wait for before the next record is settled */
  settle(work: Work, outcome: Outcome): Promise<void> | undefined
  /** It begins the next batch, or is behind the one that does. */
  putBack(work: Work): void
}

/** See the file's comment. */
export class BatchRun {
  readonly #lane: BatchLane
  readonly #records: BatchRecords
  readonly #deps: Pick<WorkerDeps, 'binding' | 'telemetry' | 'changed'>
  readonly #pace: BatchPace
  /** What runs: a record, or the first that a batch handler was given and how many others were beside it. */
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

  /** What a batch has settled is not kept waiting for what may take hours. */
  endEarly(): void {
    this.#pace.close()
    if (!this.#records.isCommitted()) this.#deps.changed(true)
  }

  /** Always, but between two batches. @param now - monotonic */
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

  /** A record is taken from the lane to run alone. @param now - monotonic */
  started(work: Work, now: number): void {
    this.#called = work
    if (this.#pace.isIdle) this.#pace.begin(Math.min(this.#lane.size + 1, this.#deps.binding.maxPollRecords), now)
    this.#pace.started()
    work.slice.startedAt = this.#pace.startedAt
  }

  /** The call is over. */
  callEnded(): void {
    this.#called = undefined
    this.#calledWith = 0
  }

  /** Offsets mean other records now. */
  reset(): void {
    this.#pace.reset()
  }

  /**
   * All of a batch through one call, or through more where it fails.
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
      const outcomes = await batchDelivery.deliver(batch, scope, () => this.#records.mayStart())
      first.startedAt = undefined
      if (outcomes === 'DONE') this.#records.settleAll(batch)
      else rest = await this.#settle(batch.works, outcomes)
    } finally {
      this.callEnded()
    }
    rest?.() // In their lane again they may start before this returns, and then run once more.
  }

  #startAll(limit: number, now: number): Batch {
    const batch = this.#lane.takeUpTo(this.#deps.binding.maxPollRecords, limit, now) as Batch // The worker saw its head.
    this.#pace.startedAll(batch.size, now)
    for (const slice of batch.slices) slice.startedAt = now
    this.#records.started(batch)
    return batch
  }

  /** Up to the first record that stays. @returns what puts it and all behind it back: they begin the next batch */
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
