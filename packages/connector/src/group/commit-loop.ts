/**
 * Commits what a member's workers have settled: one request in flight, with all partitions that changed since. A commit
 * carries the whole state of its partitions, so one that is refused or of unknown fate needs no repair: the next one
 * says everything again.
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

/** A late commit of unknown fate can set the group back for as long as a request may be under way. */
const unknownRepeatMs = 30_000
/** Nothing else would notice that somebody changed the group's offsets while the partition is idle. */
const idleRepeatMs = 3_600_000

interface Sent {
  readonly worker: PartitionWorker
  readonly offsets: readonly OffsetCommit[]
}

/** See the file's comment. */
export class CommitLoop {
  readonly #runtime: Runtime
  readonly #commit: Consumer['commit']
  readonly #workers: () => Iterable<PartitionWorker>
  readonly #fail: (error: unknown) => void
  /** Settles when no request is in flight. Never rejects. */
  #turn: Promise<boolean> = Promise.resolve(true)
  #isAsked = false
  #isDriving = false
  #failures = 0
  #retryTimer: Disposable | undefined
  #repeatAt: number
  #isClosed = false

  /** @param fail - a worker cannot say what to commit: a bug */
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

  /** Something changed. Never waits; requests that come while one is in flight become one commit. */
  request(): void {
    this.#isAsked = true
    if (!this.#isDriving && this.#retryTimer === undefined && !this.#isClosed) void this.#drive()
  }

  /** Called with each poll: commits are repeated when it is time. */
  tick(): void {
    const now = this.#runtime.clock.monotonic()
    if (now < this.#repeatAt) return
    this.#repeatAt = now + idleRepeatMs
    for (const worker of this.#workers()) worker.repeatCommit()
    this.request()
  }

  /** Commits these workers' state, trying again until the deadline. True when all of it is acknowledged. */
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
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false
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

  /** One request, after those before it. True when nothing of these workers is left to acknowledge. */
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
      logger.warn({ err: error, failures: this.#failures }, 'A commit was not acknowledged; it is sent again')
      if (error instanceof CommitError) this.#takeOutcomes(error, sent)
      return false
    }
    for (const { worker, offsets } of sent) worker.committed(offsets)
    this.#failures = 0
    return true
  }

  /** One worker that cannot say what to commit does not keep the others from it. */
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

  #takeOutcomes({ outcomes }: CommitError, sent: readonly Sent[]): void {
    const acknowledged = new Set(outcomes.filter(({ kind }) => kind === 'COMMITTED').map(({ offset }) => offset))
    for (const { worker, offsets } of sent)
      if (offsets.every((offset) => acknowledged.has(offset))) worker.committed(offsets)
    if (outcomes.some(({ kind }) => kind === 'UNKNOWN'))
      this.#repeatAt = Math.min(this.#repeatAt, this.#runtime.clock.monotonic() + unknownRepeatMs)
  }
}
