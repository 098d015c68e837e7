/**
 * Applies outcomes to the records of one partition, one branch for each: the ledger, the lane, and the wait before the
 * next record may start.
 *
 * | outcome | ledger | lane |
 * |---|---|---|
 * | DONE, SKIP | settled | free; with MANUAL_IMMEDIATE and one lane, once it is committed |
 * | RETRY, DEAD_LETTER | settled once another topic has the record | free; with STRICT, once the write is confirmed |
 * | PAUSE | unsettled | the record is the next of its lane again |
 */

import { UnreachableError } from '@waybill/core'
import type { Batch } from '../../delivery/batch.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import type { Settlement } from '../../ledger/ledger.ts'
import { announceBatch, announceReplay } from '../announce-replay.ts'
import { applyPause } from '../apply-pause.ts'
import type { PartitionShell } from '../partition-shell.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
import type { BatchPace } from './batch-pace.ts'
import type { Lanes } from './lanes.ts'
import type { PartitionAccount } from './partition-account.ts'
import { type Moved, type MovedAs, RecordMover } from './record-mover.ts'

/** The parts of a lane worker that outcomes change. */
export interface SettlerDeps {
  readonly worker: WorkerDeps
  readonly shell: PartitionShell
  readonly lanes: Lanes
  readonly account: PartitionAccount
  /** Of a partition whose records run in batches. */
  readonly pace: BatchPace | undefined
}

/** See the file's comment. */
export class RecordSettler {
  readonly #worker: WorkerDeps
  readonly #shell: PartitionShell
  readonly #scope: WorkerScope
  readonly #lanes: Lanes
  readonly #account: PartitionAccount
  readonly #pace: BatchPace | undefined
  readonly #mover: RecordMover
  /** One lane, and each record waits until the one before it is committed. */
  readonly #waitsForCommit: boolean
  /** A lane is free again only when the retry or dead letter record is confirmed. */
  readonly #waitsForConfirmation: boolean
  #commitWaiter: { readonly offset: bigint; readonly resolve: () => void } | undefined

  constructor({ worker, shell, lanes, account, pace }: SettlerDeps) {
    const { ackMode, parallelism, orderingMode } = worker.binding
    this.#worker = worker
    this.#shell = shell
    this.#scope = shell.scope
    this.#lanes = lanes
    this.#account = account
    this.#pace = pace
    this.#mover = new RecordMover(worker, shell.writes, shell.scope)
    this.#waitsForCommit = pace === undefined && ackMode === 'MANUAL_IMMEDIATE' && parallelism === 'PARTITION'
    this.#waitsForConfirmation = this.#waitsForCommit || orderingMode === 'STRICT'
  }

  /** Records that another topic may or may not have. */
  get unconfirmed(): number {
    return this.#mover.unconfirmed
  }

  /** @returns the wait before the next record may start, if there is one */
  settle(work: Work, outcome: Outcome): Promise<void> | undefined {
    // A late result of an old assignment, or of a log that was cut, changes nothing.
    if (this.#scope.isEnded) return undefined
    if (!this.#shell.isOfEra(work)) {
      this.#lanes.done(work)
      return undefined
    }
    switch (outcome.kind) {
      case 'DONE':
        announceReplay(work, 'DONE', this.#worker.binding)
        return this.#finish(work, 'OK')
      case 'SKIP':
        announceReplay(work, 'SKIP', this.#worker.binding)
        this.#worker.telemetry.skipped(this.#shell.at.topic, outcome.cause)
        return this.#finish(work, 'SKIPPED')
      case 'RETRY':
      case 'DEAD_LETTER':
        return this.#move(work, outcome)
      case 'PAUSE':
        this.#keep(work, outcome)
        return undefined
      default:
        throw new UnreachableError(outcome)
    }
  }

  /** Settles a batch whose records are all DONE, at the price of one. */
  settleAll(batch: Batch): void {
    if (this.#scope.isEnded) return
    this.#lanes.done(batch.first)
    if (!this.#shell.isOfEra(batch.first)) return
    this.#pace?.ended(batch.size)
    this.#account.settleAll(batch)
    announceBatch(batch, this.#worker.binding)
  }

  /** Makes a record the next of its lane again. */
  putBack(work: Work): void {
    if (this.#scope.isEnded || !this.#shell.isOfEra(work)) return // As with any late result.
    this.#pace?.ended()
    this.#pace?.close()
    this.#lanes.putBack(work)
    if (this.#scope.isRunning) this.#shell.backpressure.added(work.bytes)
    else this.#lanes.clear()
  }

  /** Frees the lane of a record that waits for this commit. */
  committed(position: bigint): void {
    if (this.#commitWaiter !== undefined && position > this.#commitWaiter.offset) this.endCommitWait()
  }

  /** Frees the lane of a record that waits for a commit. */
  endCommitWait(): void {
    this.#commitWaiter?.resolve()
    this.#commitWaiter = undefined
  }

  #finish(work: Work, as: Settlement): Promise<void> | undefined {
    this.#note(work, as)
    if (this.#waitsForCommit) return this.#whenCommitted(work)
    this.#lanes.done(work)
    this.#changed(work)
    return undefined
  }

  #note(work: Work, as: Settlement): void {
    this.#account.settle(work, as)
    this.#pace?.ended()
  }

  /** Reports something to commit. A batch is committed when it is over, not by its records. */
  #changed(work: Work): void {
    if (this.#pace === undefined) this.#worker.changed(this.#account.isUrgent(work))
  }

  async #whenCommitted(work: Work): Promise<void> {
    const committed = new Promise<void>((resolve) => {
      this.#commitWaiter = { offset: work.offset, resolve }
    })
    this.#worker.changed(true)
    await committed
    this.#lanes.done(work)
  }

  #move(work: Work, outcome: Moved): Promise<void> | undefined {
    const moved = this.#moved(work, this.#mover.move(work, outcome))
    if (this.#waitsForCommit) return moved
    // The slot is free: a topic that accepts nothing must not keep other partitions from their handlers (L2). So is the
    // lane, except with STRICT: the ledger waits for the confirmation, not the next record.
    if (this.#waitsForConfirmation) moved.then(this.#shell.wake).catch(this.#worker.fail)
    else {
      this.#lanes.done(work)
      moved.catch(this.#worker.fail)
    }
    return undefined
  }

  async #moved(work: Work, confirmed: Promise<MovedAs | undefined>): Promise<void> {
    const as = await confirmed
    if (as === undefined || this.#scope.isEnded) return
    announceReplay(work, as === 'DEAD' ? 'DEAD_LETTER' : 'RETRY', this.#worker.binding)
    if (!this.#shell.isOfEra(work)) {
      if (this.#waitsForConfirmation) this.#lanes.done(work)
      return
    }
    if (this.#waitsForConfirmation) {
      await this.#finish(work, as)
      return
    }
    this.#note(work, as)
    this.#changed(work)
    if (this.#pace !== undefined) this.#shell.wake()
  }

  /** Keeps a record where it is. */
  #keep(work: Work, outcome: Extract<Outcome, { kind: 'PAUSE' }>): void {
    work.dueAt = applyPause(work, outcome, this.#shell.pauses, this.#worker) ?? work.dueAt
    this.putBack(work)
  }
}
