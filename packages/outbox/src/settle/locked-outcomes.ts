/**
 * Outcomes whose rows are locked by other transactions. They wait outside of the statements, so that a locked row delays
 * its own key and no other (L2).
 *
 *   a statement finds a locked row ──▶ its key waits here ──▶ checked again, with backoff ──▶ free: written
 *                                                                    └──▶ its lease is lost: given up
 *
 * They are given up with their lease: a shard is not taken again while outcomes of it wait, and a lock may last long.
 */

import type { Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import type { SettleBatch, SplitBatch } from './outcome-queue.ts'

export interface LockedOutcomesDeps<R> {
  readonly runtime: Pick<Runtime, 'timers' | 'random'>
  /** Aborted when the outcomes are given up. */
  readonly abandoned: AbortSignal
  /** Gives up outcomes whose lease is lost. @returns the others */
  dropLost(batch: SettleBatch<R>): SettleBatch<R> | undefined
  /** Splits a batch by the locks of its rows; the free part is to be written. Never rejects. */
  split(batch: SettleBatch<R>): Promise<SplitBatch<R>>
  /** Writes a batch, except for rows that are locked again, which are added here. Never rejects. */
  write(batch: SettleBatch<R>): Promise<void>
}

/** Checking costs a query for all of them, and a lock may last as long as a forgotten session. */
const checks: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 1_000, jitterExceedsMax: false }

export class LockedOutcomes<R> {
  readonly #deps: LockedOutcomesDeps<R>
  #batches: SettleBatch<R>[] = []
  #isWatching = false

  constructor(deps: LockedOutcomesDeps<R>) {
    this.#deps = deps
  }

  add(batch: SettleBatch<R>): void {
    this.#batches.push(batch)
    if (!this.#isWatching) void this.#watch()
  }

  async #watch(): Promise<void> {
    const { runtime, abandoned } = this.#deps
    this.#isWatching = true
    for (let checked = 1; this.#batches.length > 0 && !abandoned.aborted; checked++) {
      // Only abandonment ends the sleep early, and the loop checks for it.
      await runtime.timers.sleep(backoffMs(checks, checked, runtime.random), abandoned).catch(() => {})
      if (await this.#check()) checked = 0
    }
    this.#isWatching = false
  }

  /** Writes those whose rows are free. @returns whether there were any */
  async #check(): Promise<boolean> {
    let isProgress = false
    for (const waiting of this.#batches.splice(0)) {
      const batch = this.#deps.dropLost(waiting)
      if (batch === undefined) continue
      const { free, locked } = await this.#deps.split(batch)
      if (locked !== undefined) this.#batches.push(locked)
      if (free === undefined) continue
      isProgress = true
      await this.#deps.write(free)
    }
    return isProgress
  }
}
