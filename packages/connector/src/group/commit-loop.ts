/**
 * Commits what a member's workers have settled. One request is in flight at a time; the next one covers every partition
 * that changed meanwhile. A commit carries the whole state of its partitions, so a refused commit or one with an
 * unknown outcome needs no repair: the next commit repeats everything.
 *
 *     IDLE ── request ──▶ SENDING ── acknowledged, something changed meanwhile ──▶ SENDING
 *                            ├────── acknowledged ──▶ IDLE
 *                            └────── refused, unknown ──▶ WAITING (backoff) ──▶ SENDING
 */

import { type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { CommitError, type Consumer } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import type { PartitionWorker } from '../partition/partition-worker.ts'

const backoff: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }

/**
 * A commit with an unknown outcome may still arrive, and set the group back, for as long as a request can be in flight.
 */
const unknownRepeatMs = 30_000
/** The periodic commit of an idle partition undoes offset changes made outside of the connector. */
const idleRepeatMs = 3_600_000

interface Sent {
  readonly worker: PartitionWorker
  readonly offsets: readonly OffsetCommit[]
}

/** Commits the offsets of one group member. */
export class CommitLoop {
  readonly #runtime: Runtime
  readonly #commit: Consumer['commit']
  readonly #workers: () => Iterable<PartitionWorker>
  readonly #fail: (error: unknown) => void
  /** Settles when no request is in flight. Never rejects. */
  #turn: Promise<boolean> = Promise.resolve(true)
  #isRequested = false
  #isDriving = false
  #failures = 0
  #retryTimer: Disposable | undefined
  #repeatAt: number
  #isClosed = false

  /** @param fail - called when a worker's `pendingCommit` throws, which is a bug */
  constructor(
    runtime: Runtime,
    commit: Consumer['commit'],
    workers: () => Iterable<PartitionWorker>,
    fail: (error: unknown) => void,
  ) {
    this.#runtime = runtime
    this.#commit = commit
    this.#workers = workers
    this.#fail = fail
    this.#repeatAt = runtime.clock.monotonic() + idleRepeatMs
  }

  /** Requests a commit without waiting for it. Requests made while one is in flight become one commit. */
  request(): void {
    this.#isRequested = true
    if (!this.#isDriving && this.#retryTimer === undefined && !this.#isClosed) void this.#drive()
  }

  /** Repeats the commit of every worker when the repeat interval has passed. Called after each poll. */
  tick(): void {
    const now = this.#runtime.clock.monotonic()
    if (now < this.#repeatAt) return
    this.#repeatAt = now + idleRepeatMs
    for (const worker of this.#workers()) worker.repeatCommit()
    this.request()
  }

  /** Commits these workers' state, retrying until the deadline. Returns true when all of it is acknowledged. */
  async flush(workers: readonly PartitionWorker[], deadlineMs: number): Promise<boolean> {
    const { clock, timers, random } = this.#runtime
    const endAt = clock.monotonic() + deadlineMs
    for (let failures = 1; !(await this.#next(workers)); failures++) {
      const leftMs = endAt - clock.monotonic()
      if (leftMs <= 0 || this.#isClosed) return false
      await timers.sleep(Math.min(leftMs, backoffMs(backoff, failures, random)))
    }
    return true
  }

  close(): void {
    this.#isClosed = true
    this.#retryTimer?.[Symbol.dispose]()
  }

  /** Never rejects. */
  async #drive(): Promise<void> {
    this.#isDriving = true
    while (this.#isRequested && !this.#isClosed) {
      this.#isRequested = false
      if (await this.#next(this.#workers())) continue
      this.#retryLater()
      break
    }
    this.#isDriving = false
  }

  #retryLater(): void {
    if (this.#isClosed) return
    this.#retryTimer = this.#runtime.timers.schedule(backoffMs(backoff, this.#failures, this.#runtime.random), () => {
      this.#retryTimer = undefined
      this.request()
    })
  }

  /** Sends one request after the previous ones. Returns true when these workers have nothing left to acknowledge. */
  #next(workers: Iterable<PartitionWorker>): Promise<boolean> {
    this.#turn = this.#turn.then(() => this.#attempt(workers))
    return this.#turn
  }

  async #attempt(workers: Iterable<PartitionWorker>): Promise<boolean> {
    const sent = this.#pending(workers)
    if (sent.length === 0) return true
    const { failpoint, logger } = this.#runtime
    try {
      await failpoint('commit.send')
      await this.#commit(sent.flatMap(({ offsets }) => offsets))
      await failpoint('commit.acked')
    } catch (error) {
      this.#failures++
      logger.warn({ err: error, failures: this.#failures }, 'Commit not acknowledged, retrying')
      if (error instanceof CommitError) this.#applyOutcomes(error, sent)
      return false
    }
    for (const { worker, offsets } of sent) worker.committed(offsets)
    this.#failures = 0
    return true
  }

  /** Collects the pending commits. A worker that throws does not block the others. */
  #pending(workers: Iterable<PartitionWorker>): Sent[] {
    const sent: Sent[] = []
    for (const worker of workers) {
      try {
        const offsets = worker.pendingCommit()
        if (offsets !== undefined) sent.push({ worker, offsets })
      } catch (error) {
        this.#fail(error)
      }
    }
    return sent
  }

  #applyOutcomes({ outcomes }: CommitError, sent: readonly Sent[]): void {
    const acknowledged = new Set(outcomes.filter(({ kind }) => kind === 'COMMITTED').map(({ offset }) => offset))
    for (const { worker, offsets } of sent)
      if (offsets.every((offset) => acknowledged.has(offset))) worker.committed(offsets)
    if (outcomes.some(({ kind }) => kind === 'UNKNOWN'))
      this.#repeatAt = Math.min(this.#repeatAt, this.#runtime.clock.monotonic() + unknownRepeatMs)
  }
}
