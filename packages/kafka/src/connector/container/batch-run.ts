/**
 * Runs a partition's records in batches: when the next one may begin, and all of one through a single call where the
 * handler takes many. How batches are cut is decided by BatchPace; records, lanes and the ledger are the worker's.
 */

import type { BulkDelivery } from '../delivery/bulk-delivery.ts'
import type { DeliveryScope } from '../delivery/delivery.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { BatchPace } from './batch-pace.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { Work } from './work.ts'

/** What a batch asks of the worker whose records it is made of. */
export interface BatchRecords {
  /** True when everything that is settled is acknowledged by the coordinator. */
  isCommitted(): boolean
  /** False while the partition is paused: nothing more of it may start. */
  mayStart(): boolean
  /** Takes the records of a batch; the first stands for its call in what runs. */
  startBatch(): readonly Work[]
  /** The handler succeeded for all of them. */
  settleAll(works: readonly Work[]): void
  /** @returns what to wait for before the next record is settled */
  settle(work: Work, outcome: Outcome): Promise<void> | undefined
  /** It begins the next batch, or is behind the one that does. */
  putBack(work: Work): void
  /** The call is over. */
  callEnded(first: Work): void
}

/** See the file's comment. */
export class BatchRun {
  readonly #pace: BatchPace
  readonly #records: BatchRecords
  readonly #deps: Pick<WorkerDeps, 'telemetry' | 'changed'>
  #calledWith = 0

  constructor(pace: BatchPace, records: BatchRecords, deps: Pick<WorkerDeps, 'telemetry' | 'changed'>) {
    this.#pace = pace
    this.#records = records
    this.#deps = deps
  }

  /** Records that a bulk handler was given beside the first, which stands for its call in what runs. */
  get calledWith(): number {
    return this.#calledWith
  }

  /** What a batch has settled is not kept waiting for what may take hours. */
  endEarly(): void {
    this.#pace.close()
    if (!this.#records.isCommitted()) this.#deps.changed(true)
  }

  /** Always, but between two batches. @param now - monotonic */
  mayGoOn(now: number): boolean {
    const { telemetry, changed } = this.#deps
    if (this.#pace.isOverdue(now)) {
      telemetry.safetyTriggered()
      this.#pace.close()
    }
    if (!this.#pace.isClosed) return true
    if (!this.#pace.isSettled) return false
    if (this.#records.isCommitted()) {
      this.#pace.reset()
      return true
    }
    changed(true)
    return false
  }

  /** All of a batch through one call, or through more where it fails. */
  async call(bulk: BulkDelivery, scope: DeliveryScope): Promise<void> {
    const works = this.#records.startBatch()
    const first = works[0] as Work
    this.#calledWith = works.length - 1
    let rest: (() => void) | undefined
    try {
      const outcomes = await bulk.deliver(works, scope, () => this.#records.mayStart())
      first.startedAt = undefined
      if (outcomes === 'DONE') this.#records.settleAll(works)
      else rest = await this.#settle(works, outcomes)
    } finally {
      this.#records.callEnded(first)
      this.#calledWith = 0
    }
    rest?.() // In their lane again they may start before this returns, and then run once more.
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
