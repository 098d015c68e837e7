/** How a partition's records are cut into batches. Pure: no IO, and time is a parameter. */

import { pollTimeLimitMs } from '@waybill/core/internal'
import type { ResolvedBinding } from '../../binding/resolved-binding.ts'

/**
 * One batch at a time. The next begins when everything of the one before is settled and committed, so that a kill repeats
 * at most one (L5).
 *
 *     IDLE ── first record starts ──▶ OPEN ── its last record started, its time is up, a record stays ──▶ CLOSED
 *      ▲                                                                                      │
 *      └────────────── every record of it settled or put back, and the commit acknowledged ───┘
 *
 * A batch is what is buffered when it begins: as much as a poll may bring, from wherever the one before it ended. So one
 * that ended early is not fetched again, and yet begins at the record that failed (ADR 7).
 */
export class BatchPace {
  readonly #safeMs: number
  #state: 'IDLE' | 'OPEN' | 'CLOSED' = 'IDLE'
  #startedAt = 0
  /** Records that may still start. */
  #left = 0
  /** Records that started and are neither settled nor put back. */
  #unsettled = 0

  /** @param safeMs - how long a batch may take of the poll interval */
  constructor(safeMs: number) {
    this.#safeMs = safeMs
  }

  /** Monotonic: when the batch began. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** True when the next record begins a batch. */
  get isIdle(): boolean {
    return this.#state === 'IDLE'
  }

  /** True when no record of the batch may start any more. */
  get isClosed(): boolean {
    return this.#state === 'CLOSED'
  }

  /** Closed, and nothing of it is left to settle: it can be committed. */
  get isSettled(): boolean {
    return this.#state === 'CLOSED' && this.#unsettled === 0
  }

  /** Before each record: true when the batch has used up its time (S0-089). */
  isOverdue(now: number): boolean {
    return this.#state === 'OPEN' && now - this.#startedAt > this.#safeMs
  }

  /** A batch of so many records. */
  begin(size: number, now: number): void {
    this.#state = 'OPEN'
    this.#startedAt = now
    this.#left = size
  }

  /** A record of it starts. */
  started(): void {
    this.#unsettled++
    if (--this.#left === 0) this.close()
  }

  /** All of a batch starts at once. */
  startedAll(size: number, now: number): void {
    this.#state = 'CLOSED'
    this.#startedAt = now
    this.#unsettled += size
  }

  /** Records are settled or back in their lane. */
  ended(count = 1): void {
    this.#unsettled -= count
  }

  close(): void {
    if (this.#state === 'OPEN') this.#state = 'CLOSED'
  }

  /** What it settled is committed, or offsets mean other records now. */
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
