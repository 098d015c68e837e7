/** How a partition's records are cut into batches. Pure: no IO, and time is a parameter. */

import { pollTimeLimitMs } from '@waybill/core/internal'
import type { ResolvedBinding } from '../../binding/resolved-binding.ts'

/**
 * One batch at a time. The next one starts when the one before is settled and committed, so that a kill repeats at most
 * one batch (L5).
 *
 *     IDLE ── first record starts ──▶ OPEN ── its last record started, its time is up, a record stays ──▶ CLOSED
 *      ▲                                                                                      │
 *      └────────────── every record of it settled or put back, and the commit acknowledged ───┘
 *
 * A batch holds the records that are buffered when it starts, at most as many as a poll returns, from where the one
 * before it ended. After an early end the rest is not fetched again, and the next batch starts at the failed record (ADR 7).
 */
export class BatchPace {
  readonly #safeMs: number
  #state: 'IDLE' | 'OPEN' | 'CLOSED' = 'IDLE'
  #startedAt = 0
  /** Records that may still start. */
  #left = 0
  /** Records that started and are neither settled nor put back. */
  #unsettled = 0

  /** @param safeMs - the share of the poll interval that a batch may use */
  constructor(safeMs: number) {
    this.#safeMs = safeMs
  }

  /** Monotonic: the start of the batch. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** True when the next record starts a batch. */
  get isIdle(): boolean {
    return this.#state === 'IDLE'
  }

  /** True when no further record of the batch may start. */
  get isClosed(): boolean {
    return this.#state === 'CLOSED'
  }

  /** True when the batch is closed and settled: it can be committed. */
  get isSettled(): boolean {
    return this.#state === 'CLOSED' && this.#unsettled === 0
  }

  /** Returns true when the batch has used up its time. Checked before each record. */
  isOverdue(now: number): boolean {
    return this.#state === 'OPEN' && now - this.#startedAt > this.#safeMs
  }

  /** Starts a batch. */
  begin(size: number, now: number): void {
    this.#state = 'OPEN'
    this.#startedAt = now
    this.#left = size
  }

  /** Counts a record that starts. */
  started(): void {
    this.#unsettled++
    if (--this.#left === 0) this.close()
  }

  /** Starts all records of a batch at once. */
  startedAll(size: number, now: number): void {
    this.#state = 'CLOSED'
    this.#startedAt = now
    this.#unsettled += size
  }

  /** Counts records that are settled or back in their lane. */
  ended(count = 1): void {
    this.#unsettled -= count
  }

  close(): void {
    if (this.#state === 'OPEN') this.#state = 'CLOSED'
  }

  /** Forgets the batch: it is committed, or its log was cut. */
  reset(): void {
    this.#state = 'IDLE'
    this.#unsettled = 0
  }
}

/** Creates the pace of a binding: a batch takes at most its share of the poll interval. */
export function batchPaceOf({
  maxPollIntervalMs,
  pollIntervalSafetyThreshold,
}: Pick<ResolvedBinding, 'maxPollIntervalMs' | 'pollIntervalSafetyThreshold'>): BatchPace {
  return new BatchPace(pollTimeLimitMs(maxPollIntervalMs, pollIntervalSafetyThreshold))
}
