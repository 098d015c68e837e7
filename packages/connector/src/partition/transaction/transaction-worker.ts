/**
 * Runs a partition of a transactional binding: consume, transform, produce (I13). Handlers run one after the other and
 * write nothing; their outputs are written together with the offset behind their records, in one transaction.
 *
 *     accepted ──▶ queued ──▶ delivered ──▶ decided ──▶ written in a transaction ──▶ committed
 *                    ▲            │             │ a topic refuses an output permanently: the record has failed
 *                    └── PAUSE ───┴─────────────┘
 *
 * A transaction is open while it is written and never while a handler runs, so a slow handler blocks no consumer and no
 * failure has to be undone. While one is written the next one gathers: a lone record is written at once, under load many
 * share one. A decision is final: after an abort the same is written again, and no handler is called for it.
 *
 * | event | records | partition |
 * |---|---|---|
 * | the handler succeeds | its outputs and the offset are one transaction | continues |
 * | the handler fails | no outputs; its retry or dead letter record and the offset are one transaction | continues |
 * | aborted, unknown, fenced | written again, unless the group has the offset: transaction-writer.ts | halted after three failures |
 * | revoked | running records may complete, decided ones are written, queued ones are forgotten | drained, ended |
 * | drained too late, lost | nothing more is written; the next owner fences this one, then reads the offset | ended at once |
 *
 * Every commit of the partition is part of a transaction, even of nothing but gaps: the member never commits it.
 */

import type { KafkaRecord } from '@waybill/kafka'
import { Queue } from '@waybill/kafka/internal'
import type { PartitionStatus } from '../../api/binding-view.ts'
import type { PauseReason } from '../../api/pause-reason.ts'
import type { ResolvedTransaction } from '../../binding/resolved-binding.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import { noDistance, type Work } from '../../delivery/work.ts'
import { Outputs } from '../../handlers/outputs.ts'
import type { LedgerState } from '../../ledger/ledger.ts'
import { applyPause } from '../apply-pause.ts'
import { PartitionShell } from '../partition-shell.ts'
import type { PartitionWorker, WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
import { decideRecord } from './decided-record.ts'
import { TransactionLoop } from './transaction-loop.ts'

/** The worker of a partition whose binding is transactional. */
export class TransactionWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly #deps: WorkerDeps
  readonly #shell: PartitionShell
  readonly #scope: WorkerScope
  readonly #bounds: ResolvedTransaction
  readonly #queue = new Queue<Work>()
  #loop: TransactionLoop | undefined
  /** True while records run one after the other, also between two of them. */
  #isHandling = false
  #running: Work | undefined
  /** Settles when no handler runs. Never rejects. */
  #handling: Promise<void> = Promise.resolve()

  constructor(deps: WorkerDeps) {
    const { binding, partition, epoch } = deps
    this.#deps = deps
    this.partition = partition
    this.epoch = epoch
    this.#shell = new PartitionShell(deps, {
      pump: () => this.#pump(),
      clearQueued: () => this.#queue.clear(),
      buffered: () => this.#queue.size,
    })
    this.#scope = this.#shell.scope
    this.#bounds = binding.transactional as ResolvedTransaction
  }

  /** The previous owner is fenced by now (see Member): the commit that is read here is final. */
  async open(): Promise<void> {
    const [committed] = await this.#deps.consumer.committed([this.#shell.at])
    if (this.#scope.isEnded) return
    const { ledger, mayRun } = this.#shell.openLedger(committed)
    if (mayRun) this.#loop = this.#createLoop(ledger.state(), committed?.offset ?? null)
  }

  accept(records: readonly KafkaRecord[]): void {
    const loop = this.#loop
    if (!this.#scope.isRunning || loop === undefined || loop.isCut) return
    const { backpressure } = this.#shell
    const slice = this.#shell.slice(records)
    for (const record of records) {
      if (!loop.accept(record.offset)) continue
      const work = this.#shell.workOf(record, slice, noDistance)
      this.#queue.push(work)
      backpressure.added(work.bytes)
    }
    backpressure.apply()
    this.#pump()
  }

  polled(): void {
    const position = this.#scope.isRunning ? this.#deps.consumer.position(this.#shell.at) : undefined
    if (position !== undefined) this.#loop?.reached(position)
  }

  async drain(deadlineMs: number): Promise<void> {
    await this.#shell.drain(deadlineMs, () => !this.#isHandling && this.#loop?.isIdle !== false)
  }

  lose(): void {
    this.#shell.lose()
    this.#loop?.stop()
  }

  pause(reason: PauseReason): void {
    this.#shell.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#shell.resume(reason)
  }

  condemn(offset: bigint): boolean {
    const head = this.#queue.peek()
    return head !== undefined && this.#shell.condemn([head], offset)
  }

  /** Always undefined: see the file's comment. */
  pendingCommit(): undefined {
    return undefined
  }

  committed(): void {}

  repeatCommit(): void {
    this.#loop?.repeatCommit()
  }

  /** The partition waits before it: `checkTransactional` permits nothing else. */
  oversized(): void {}

  positionLost(continuesAt: bigint): void {
    // Above the next offset, the missing offsets are gaps. Below it, offsets mean other records, and what is not committed
    // before it is read again.
    if (this.#loop === undefined || continuesAt >= this.#loop.next) return
    this.#shell.cut()
    this.#loop.cutAt(continuesAt)
  }

  status(): PartitionStatus {
    const position = this.#loop?.position ?? 0n
    return this.#shell.status({
      watermark: position,
      committed: position,
      buffered: this.#queue.size,
      running: this.#running === undefined ? 0 : 1,
      unconfirmed: this.#loop?.unconfirmed ?? 0,
      waiting: 0,
      runningSince: this.#running?.startedAt,
    })
  }

  #createLoop(...from: [state: LedgerState, committed: bigint | null]): TransactionLoop {
    const { at, writes } = this.#shell
    const deps = {
      worker: this.#deps,
      at,
      bounds: this.#bounds,
      scope: this.#scope,
      watch: writes.watch(),
      hasUndecided: () => this.#running !== undefined || this.#queue.size > 0,
      handled: () => this.#handling,
      keep: (works: readonly Work[], outcome: Extract<Outcome, { kind: 'PAUSE' }>) => this.#keep(works, outcome),
      readFrom: (position: bigint) => this.#deps.consumer.seek(at, position),
      changed: () => {
        this.#scope.look()
        this.#pump()
      },
    }
    return new TransactionLoop(deps, ...from)
  }

  /** Starts the next record if it may start. */
  #pump(): void {
    const { slots } = this.#deps
    if (this.#isHandling || !this.#hasStartable()) return
    if (slots.tryTake()) this.#handling = this.#run()
    else slots.whenFree(this.#shell.wake)
  }

  #hasStartable(): boolean {
    if (!this.#scope.isRunning || this.#shell.pauses.isHalted || this.#loop?.hasRoom !== true) return false
    const next = this.#queue.peek()
    if (next === undefined) return false
    const isDue = next.dueAt <= this.#deps.runtime.clock.monotonic()
    this.#shell.delay.until(isDue ? undefined : next.dueAt)
    return isDue
  }

  /** Runs records until none may start. Never rejects. */
  async #run(): Promise<void> {
    const { slots, fail } = this.#deps
    this.#isHandling = true
    try {
      do await this.#handleNext()
      while (!slots.isContended && this.#hasStartable())
    } catch (error) {
      fail(error)
    }
    this.#isHandling = false
    slots.release()
    this.#scope.look()
    this.#pump()
  }

  async #handleNext(): Promise<void> {
    const { delivery, runtime, binding } = this.#deps
    const work = this.#start()
    let outcome: Outcome
    try {
      outcome = await delivery.deliver(work, this.#scope)
    } finally {
      work.startedAt = undefined
      this.#running = undefined
      this.#shell.ended(work.bytes)
    }
    // A late result of an old assignment, or of a log that was cut, changes nothing.
    if (this.#scope.isEnded || !this.#shell.isOfEra(work)) return
    if (outcome.kind === 'PAUSE') this.#keep([work], outcome)
    else this.#loop?.add(decideRecord(work, outcome, binding, runtime.clock.now()))
  }

  #start(): Work {
    const work = this.#queue.shift() as Work
    this.#shell.backpressure.started(work.bytes)
    work.startedAt = this.#deps.runtime.clock.monotonic()
    work.outputs = new Outputs({ ofCall: this.#bounds.maxBytes, ofRecord: this.#bounds.maxRecordBytes })
    this.#running = work
    return work
  }

  /** Keeps records as the next to run, in their order. */
  #keep(works: readonly Work[], outcome: Extract<Outcome, { kind: 'PAUSE' }>): void {
    const [first] = works
    if (first === undefined || !this.#scope.isRunning || !this.#shell.isOfEra(first)) return
    first.dueAt = applyPause(first, outcome, this.#shell.pauses, this.#deps) ?? first.dueAt
    for (const work of works.toReversed()) {
      this.#queue.unshift(work)
      this.#shell.backpressure.added(work.bytes)
    }
  }
}
