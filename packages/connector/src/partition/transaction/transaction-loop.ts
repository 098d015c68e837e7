/**
 * Writes the decided records of a partition, one transaction after the other, and tracks the committed position.
 *
 *     IDLE ── something is decided, or gaps are passed ──▶ WRITING ── committed: reported ──▶ WRITING, IDLE
 *                                                              ├─ too much for its time ──▶ WRITING, half of it
 *                                                              └─ refused ──▶ RECONSIDERING ──▶ WRITING, IDLE
 *
 * No handler starts while it reconsiders: a record that fails after all may have to wait, and so do all behind it.
 */

import { UnreachableError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { ResolvedTransaction } from '../../binding/resolved-binding.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Work } from '../../delivery/work.ts'
import { encodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import { Ledger, type LedgerState, ledgerStateAt } from '../../ledger/ledger.ts'
import { transactionProducerOptions } from '../../options/transaction-rules.ts'
import type { PublishWatch } from '../../records/derived-publisher.ts'
import { announceReplay } from '../announce-replay.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
import type { DecidedRecord } from './decided-record.ts'
import { reconsider } from './reconsider.ts'
import { TransactionWriter } from './transaction-writer.ts'
import { transactionalIdOf } from './transactional-id.ts'

/** The collaborators of a loop. */
export interface LoopDeps {
  readonly worker: WorkerDeps
  readonly at: TopicPartition
  readonly bounds: ResolvedTransaction
  readonly scope: WorkerScope
  readonly watch: PublishWatch
  /** Returns true if a record is queued or running. */
  readonly hasUndecided: () => boolean
  /** Resolves when no handler runs. */
  readonly handled: () => Promise<void>
  /** Keeps records where they are: they run again, in this order. */
  readonly keep: (works: readonly Work[], outcome: Extract<Outcome, { kind: 'PAUSE' }>) => void
  /** Reads a log that was cut again from an offset. */
  readonly readFrom: (position: bigint) => void
  /** Called when there is room for more, or nothing is in flight. */
  readonly changed: () => void
}

/** See the file's comment. */
export class TransactionLoop {
  readonly #deps: LoopDeps
  readonly #writer: TransactionWriter
  /** The committed state of the partition. */
  #state: LedgerState
  /** Everything below was read. */
  #reached: bigint
  #decided: DecidedRecord[] = []
  #bytes = 0
  /** The limit of the next transaction: halved after one that could not be written, doubled after each that was. */
  #atMost: number
  /** The number of records in the open transaction. */
  #unconfirmed = 0
  #isWriting = false
  #isReconsidering = false
  #isCommitDue = false
  /** The offset at which a log was cut while a transaction was in flight. */
  #cutAt: bigint | undefined

  /** @param committed - the committed offset, read when no previous owner could commit any more */
  constructor(deps: LoopDeps, state: LedgerState, committed: bigint | null) {
    this.#deps = deps
    this.#state = state
    this.#reached = state.position
    this.#atMost = deps.bounds.maxRecords
    this.#writer = this.#createWriter(committed)
  }

  /** The committed offset. */
  get position(): bigint {
    return this.#state.position
  }

  /** Everything below it was read, or is a gap. */
  get next(): bigint {
    return this.#reached
  }

  /** True until the start of a log that was cut is known: no record is accepted before. */
  get isCut(): boolean {
    return this.#cutAt !== undefined
  }

  /** The number of decided records that are not known to be committed. */
  get unconfirmed(): number {
    return this.#unconfirmed + this.#decided.length
  }

  get isIdle(): boolean {
    return !this.#isWriting
  }

  /** True when a handler may start: within the limits of the next transaction, and of what a kill may repeat (L5). */
  get hasRoom(): boolean {
    const { bounds, worker } = this.#deps
    return (
      !this.#isReconsidering &&
      this.#decided.length < bounds.maxRecords &&
      this.#bytes < bounds.maxBytes &&
      this.unconfirmed < worker.binding.maxAhead
    )
  }

  /** Returns false for a record that a previous owner settled above its committed position. */
  accept(offset: bigint): boolean {
    this.#reached = offset + 1n
    return !this.#state.settledAbove.has(offset)
  }

  /** Notes that the log has no further record below an offset: control records, compaction. */
  reached(position: bigint): void {
    if (this.isCut) return
    if (position > this.#reached) this.#reached = position
    void this.#write()
  }

  add(decided: DecidedRecord): void {
    this.#decided.push(decided)
    this.#bytes += decided.bytes
    void this.#write()
  }

  /** Commits the same position again: it may have been overwritten. */
  repeatCommit(): void {
    this.#isCommitDue = true
    void this.#write()
  }

  /**
   * Notes that offsets from here on mean other records. Records before it that are not committed are read again: nothing
   * of them was written. The transaction in flight may commit them, so it completes first (I13).
   */
  cutAt(offset: bigint): void {
    this.#forget()
    if (this.#cutAt === undefined || offset < this.#cutAt) this.#cutAt = offset
    if (!this.#isWriting) this.#beginAnew()
  }

  /** Stops: another member owns the partition. */
  stop(): void {
    this.#forget()
    void this.#writer.stop()
  }

  #createWriter(committed: bigint | null): TransactionWriter {
    const { at, bounds, watch, worker } = this.#deps
    const { client, consumer, runtime, place } = worker
    const id = transactionalIdOf(place.groupId, at)
    const options = transactionProducerOptions(bounds)
    const createProducer = (): ReturnType<typeof client.transactionalProducer> =>
      client.transactionalProducer(id, options)
    return new TransactionWriter({ at, runtime, consumer, createProducer, troubled: watch.troubled }, committed)
  }

  #beginAnew(): void {
    const { position } = this.#state
    const cutAt = this.#cutAt as bigint
    const from = position < cutAt ? position : cutAt
    this.#cutAt = undefined
    this.#state = ledgerStateAt(from)
    this.#reached = from
    this.#isCommitDue = true // The committed offset may lie beyond the end of the log, where the next owner would start.
    this.#deps.readFrom(from)
  }

  #forget(): void {
    this.#decided = []
    this.#bytes = 0
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    try {
      while (this.#hasToWrite()) {
        await this.#writeNext()
        if (this.isCut && !this.#deps.scope.isEnded) this.#beginAnew()
      }
    } catch (error) {
      this.#deps.worker.fail(error)
    }
    this.#isWriting = false
    this.#deps.watch.recovered() // The last failed write is over.
    this.#deps.changed()
  }

  /** Gaps alone are committed when nothing else is in flight. */
  #hasToWrite(): boolean {
    if (this.#deps.scope.isEnded) return false
    if (this.#decided.length > 0) return true
    return this.#isCaughtUp() && (this.#isCommitDue || this.#reached > this.#state.position)
  }

  /** Everything that was read is decided. Not while it drains: queued records are forgotten then, and are no gap. */
  #isCaughtUp(): boolean {
    return this.#deps.scope.isRunning && this.#decided.length === 0 && !this.#deps.hasUndecided()
  }

  async #writeNext(): Promise<void> {
    let parts: readonly DecidedRecord[] = this.#takeNext()
    this.#isCommitDue = false
    this.#unconfirmed = parts.length
    this.#deps.changed() // The next transaction may gather while this one is written.
    try {
      for (;;) {
        this.#unconfirmed = parts.length
        const state = this.#stateBehind(parts)
        const written = await this.#writer.write({
          parts: parts.map(({ records }) => records),
          offset: this.#commitOf(state),
        })
        if (written.kind === 'OVER' || this.#deps.scope.isEnded) return
        if (written.kind === 'COMMITTED') return this.#committed(parts, state)
        if (this.isCut) return // Nothing was written.
        if (written.kind === 'TOO_MUCH') parts = this.#half(parts)
        else parts = await this.#reconsider(parts, written.refusals)
        if (parts.length === 0 || this.isCut) return
      }
    } finally {
      this.#unconfirmed = 0
    }
  }

  #takeNext(): DecidedRecord[] {
    const parts = this.#decided.splice(0, this.#atMost)
    for (const { bytes } of parts) this.#bytes -= bytes
    return parts
  }

  /** The other half waits for the next transaction, before the records that gathered behind it. */
  #half(parts: readonly DecidedRecord[]): readonly DecidedRecord[] {
    this.#atMost = Math.ceil(parts.length / 2)
    const later = parts.slice(this.#atMost)
    this.#decided.unshift(...later)
    for (const { bytes } of later) this.#bytes += bytes
    return parts.slice(0, this.#atMost)
  }

  /** Returns the state of the partition once these are committed. */
  #stateBehind(parts: readonly DecidedRecord[]): LedgerState {
    const ledger = new Ledger(this.#state)
    for (const { work, as } of parts) {
      ledger.fetched(work.offset)
      ledger.settle(work.offset, as)
    }
    if (this.#isCaughtUp()) ledger.reached(this.#reached)
    return ledger.state()
  }

  #commitOf(state: LedgerState): OffsetCommit {
    const { at, worker } = this.#deps
    return { ...at, epoch: worker.epoch, offset: state.position, metadata: encodeCommitMetadata(state) }
  }

  #committed(parts: readonly DecidedRecord[], state: LedgerState): void {
    this.#state = state
    this.#unconfirmed = 0
    this.#atMost = Math.min(2 * this.#atMost, this.#deps.bounds.maxRecords)
    this.#deps.watch.recovered()
    for (const part of parts) this.#tell(part)
  }

  /** Reports a record once it is committed. */
  #tell({ work, outcome, records }: DecidedRecord): void {
    const { at, worker } = this.#deps
    const [written] = records
    announceReplay(work, outcome.kind, worker.binding)
    switch (outcome.kind) {
      case 'DONE':
        return worker.telemetry.processed(at.topic, at.partition)
      case 'SKIP':
        return worker.telemetry.skipped(at.topic, outcome.cause)
      case 'RETRY':
        return undefined
      case 'DEAD_LETTER':
        if (written !== undefined) worker.deadLettered({ work, written, outcome })
        return undefined
      default:
        throw new UnreachableError(outcome)
    }
  }

  /** Returns the records to write in place of a transaction that was refused permanently. */
  async #reconsider(
    parts: readonly DecidedRecord[],
    refusals: Parameters<typeof reconsider>[1],
  ): Promise<readonly DecidedRecord[]> {
    const { worker, scope, watch } = this.#deps
    this.#isReconsidering = true
    try {
      await this.#deps.handled()
      const { kept, waiting } = await reconsider(parts, refusals, { ...worker, scope, watch })
      if (waiting === undefined || scope.isEnded) return kept
      const behind = [...parts.slice(kept.length + 1), ...this.#decided]
      this.#forget()
      this.#deps.keep([waiting.work, ...behind.map(({ work }) => work)], waiting.outcome)
      return kept
    } finally {
      this.#isReconsidering = false
    }
  }
}
