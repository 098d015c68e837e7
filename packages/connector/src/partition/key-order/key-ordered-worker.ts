/**
 * Runs a partition whose keys keep their order through retries and dead letters: `orderingMode: KEY` (I7).
 *
 *     source ──▶ key is free ──▶ delivered ──▶ DONE, SKIP ─────────────────────────────▶ settled
 *        │            ▲              ├───────▶ RETRY ──▶ waiting topic, confirmed ─────────▲
 *        │            │              └───────▶ DEAD_LETTER ──▶ confirmed (BLOCK: marker) ──▲
 *        └──▶ key is blocked ──▶ waiting topic, confirmed ──▶ settled; waits for its turn in the chain of its key
 *
 * | state | meaning |
 * |---|---|
 * | OPENING | the commit was read; the waiting topic is being fenced and read; the source is not fetched |
 * | RUNNING | see above |
 * | DRAINING | nothing starts; running records complete, and failed ones are appended |
 * | ENDED | late results change nothing; the next owner finds appends without a commit |
 */

import type { Buffer } from 'node:buffer'
import type { Timers } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import type { KeyState, PartitionStatus } from '../../api/binding-view.ts'
import type { PauseReason } from '../../api/pause-reason.ts'
import { noDistance, type Slice, Work, type WorkPlace } from '../../delivery/work.ts'
import { auditLedgers } from '../../ledger/audit-ledgers.ts'
import { encodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import {
  Ledger,
  type LedgerState,
  ledgerStateAt,
  type Settlement,
  type WaitingLedgerState,
} from '../../ledger/ledger.ts'
import { readAgainFrom } from '../../ledger/read-again-from.ts'
import { waitingSpan } from '../../options/metadata-room.ts'
import { CommitProgress } from '../commit-progress.ts'
import { DueTimer } from '../due-timer.ts'
import { PartitionShell } from '../partition-shell.ts'
import type { PartitionWorker, WorkerDeps } from '../partition-worker.ts'
import type { WorkerScope } from '../worker-scope.ts'
import { copyDueAtOf } from './copy-due-at.ts'
import { KeyChains, type RunStep } from './key-chains.ts'
import { KeyTurns } from './key-turns.ts'
import { countedAnew, describeDifference, openWaiting, waitingStateAt } from './open-waiting.ts'
import { laneOfKey } from './original.ts'
import { isWaitingFull, SourceQueue } from './source-queue.ts'
import { condemnEntry } from './waiting-entry.ts'
import { WaitingLog } from './waiting-log.ts'
import { ownRecord, type WaitingPlace, type WaitingRecord } from './waiting-record.ts'
import { WaitingTopicLostError } from './waiting-topic-lost-error.ts'

/** The worker of a partition whose binding has a waiting topic. */
export class KeyOrderedWorker implements PartitionWorker {
  readonly partition: number
  readonly epoch: number
  readonly #deps: WorkerDeps
  readonly #shell: PartitionShell
  readonly #scope: WorkerScope
  readonly #place: WaitingPlace
  readonly #chains = new KeyChains()
  readonly #dueTimer: DueTimer
  readonly #progress: CommitProgress
  readonly #input = new SourceQueue()
  #log: WaitingLog | undefined
  #turns: KeyTurns | undefined
  #ledger = new Ledger(ledgerStateAt(0n))
  #isOver = false

  constructor(deps: WorkerDeps) {
    const { binding, partition, epoch } = deps
    this.#deps = deps
    this.partition = partition
    this.epoch = epoch
    this.#shell = new PartitionShell(deps, {
      pump: () => this.#pump(),
      clearQueued: () => this.#clearQueued(),
      buffered: () => this.#buffered,
    })
    this.#scope = this.#shell.scope
    this.#place = {
      source: this.#shell.at,
      waiting: { topic: binding.waitingTopic as string, partition },
      groupId: binding.groupId,
    }
    this.#progress = new CommitProgress(binding.maxAhead)
    this.#dueTimer = new DueTimer(deps.runtime, () => this.#due())
  }

  /** Reads the commit; then the waiting topic is fenced and read, for as long as its brokers take. */
  async open(): Promise<void> {
    const { consumer, unaccounted } = this.#deps
    const { source, waiting } = this.#place
    this.#shell.pause('BACKPRESSURE')
    const [committed, beside] = await consumer.committed([source, waiting])
    if (!this.#scope.isRunning) return
    const opened = openWaiting({
      committed,
      source: consumer.position(source) ?? committed?.offset ?? 0n,
      waiting: consumer.position(waiting) ?? beside?.offset ?? 0n,
      hasWaited: (beside?.offset ?? 0n) > 0n,
    })
    if (opened.problem !== undefined) unaccounted(opened.problem)
    consumer.seek(waiting, opened.waiting.position)
    this.#begin(opened.source)
    this.#openLog(opened.waiting, opened.isAnew)
  }

  accept(records: readonly KafkaRecord[]): void {
    const log = this.#log
    if (log === undefined || this.#isOver) return
    const slice = this.#shell.slice(records)
    const before = this.#ledger.watermark
    for (const record of records) {
      if (record.topic === this.#place.waiting.topic) log.accept(record)
      else if (this.#scope.isRunning && this.#ledger.fetched(record.offset)) this.#accept(log, record, slice)
    }
    // A gap before them. Records behind a wide gap start only once it is committed.
    if (this.#ledger.watermark !== before) this.#noted(this.#ledger.watermark)
    this.#pump()
  }

  polled(): void {
    const log = this.#log
    if (log === undefined || !this.#scope.isRunning) return
    const { consumer } = this.#deps
    const position = log.isOpen ? consumer.position(this.#place.source) : undefined
    const before = this.#ledger.watermark
    if (position !== undefined) {
      this.#ledger.reached(position)
      log.sourceReached(position)
    }
    if (this.#ledger.watermark !== before) this.#noted(this.#ledger.watermark)
    const waiting = consumer.position(this.#place.waiting)
    if (waiting !== undefined) log.reached(waiting)
  }

  async drain(deadlineMs: number): Promise<void> {
    const { clock, timers } = this.#deps.runtime
    const endAt = clock.monotonic() + deadlineMs
    await this.#shell.drain(deadlineMs, () => (this.#turns?.running ?? 0) === 0 && this.#log?.isIdle !== false)
    await within(timers, endAt - clock.monotonic(), this.#end())
  }

  lose(): void {
    this.#shell.lose()
    void this.#end()
  }

  pause(reason: PauseReason): void {
    this.#shell.pause(reason)
  }

  resume(reason: PauseReason): void {
    this.#shell.resume(reason)
  }

  /** Condemns a record that stays at the head of its lane, or waits as the first of its key. */
  condemn(offset: bigint): boolean {
    if (this.#log?.isOpen !== true || this.#isOver) return false
    return this.#shell.condemn(this.#chains.heads(), offset) || this.#condemnWaiting(offset)
  }

  pendingCommit(): readonly OffsetCommit[] | undefined {
    const log = this.#log
    if (log?.isOpen !== true || this.#scope.isEnded || this.#progress.isAcknowledged) return undefined
    if (!log.isCommittable) return undefined
    this.#progress.sent()
    const [source, waiting] = [this.#ledger.state(), log.state()]
    const metadata = encodeCommitMetadata(source, waiting)
    return [
      { ...this.#place.source, epoch: this.epoch, offset: source.position, metadata },
      { ...this.#place.waiting, epoch: this.epoch, offset: waiting.position },
    ]
  }

  committed([source, waiting]: readonly OffsetCommit[]): void {
    if (source === undefined || this.#scope.isEnded) return
    // Of a source that was cut since: the next commit describes both topics as they are now.
    if (!this.#progress.acknowledged(source.offset)) return
    if (waiting !== undefined) this.#log?.committed(waiting.offset)
    this.#pump()
  }

  repeatCommit(): void {
    this.#progress.changed()
  }

  /** The partition waits before it: the rule of `orderingMode: KEY` permits nothing else. */
  oversized(): void {}

  positionLost(continuesAt: bigint, topic: string): void {
    if (topic === this.#place.waiting.topic) return this.#waitingLost(continuesAt)
    const from = this.#log === undefined ? undefined : readAgainFrom(this.#ledger, continuesAt)
    if (this.#log === undefined || from === undefined) return
    // Held records keep waiting: if the source returns one, it is settled as copied; if not, its copy is all that is left.
    this.#shell.forgetQueued()
    this.#begin(ledgerStateAt(from))
    if (this.#log.isOpen) this.#log.sourceReplaced()
    if (from < continuesAt) this.#deps.consumer.seek(this.#place.source, from)
    this.#noted(from)
  }

  keyState(key: Buffer): KeyState | undefined {
    if (this.#log?.isOpen !== true || this.#isOver) return undefined
    return this.#chains.keyState(laneOfKey(key))
  }

  status(): PartitionStatus {
    return this.#shell.status({
      watermark: this.#ledger.watermark,
      committed: this.#progress.position,
      buffered: this.#buffered,
      running: this.#turns?.running ?? 0,
      unconfirmed: (this.#turns?.publishing ?? 0) + (this.#log?.unconfirmed ?? 0),
      waiting: this.#log?.size ?? 0,
      runningSince: this.#turns?.runningSince,
    })
  }

  #condemnWaiting(offset: bigint): boolean {
    const entry = this.#scope.isRunning ? this.#chains.waitingHead(offset) : undefined
    if (entry === undefined || !condemnEntry(entry)) return false
    entry.dueAt = 0
    this.#chains.look(entry.lane)
    this.#pump()
    return true
  }

  get #buffered(): number {
    return this.#input.size + this.#chains.queued
  }

  /**
   * Handles a lost position of the waiting topic. Above the next offset: the missing offsets are reported as lost, and are
   * gaps to the ledger. Below it: the log is not the one that was committed, and is read from there.
   */
  #waitingLost(continuesAt: bigint): void {
    const log = this.#log
    if (log === undefined || this.#isOver || continuesAt >= log.next) return
    if (log.isOpen) return this.#deps.fail(new WaitingTopicLostError(this.#place.waiting))
    void log.stop()
    this.#openLog(waitingStateAt(continuesAt), true)
  }

  #openLog(state: WaitingLedgerState, isAnew: boolean): void {
    const { position, settledAbove } = this.#ledger.state()
    const isCovered = (offset: bigint): boolean => offset < position || settledAbove.has(offset)
    this.#log = this.#createLog(state, isCovered, () => this.#opened(isAnew))
    this.#turns = this.#createTurns(this.#log)
    this.#log.start()
  }

  #createLog(state: WaitingLedgerState, isCovered: (offset: bigint) => boolean, opened: () => void): WaitingLog {
    const { binding, consumer, client, runtime, fail, unaccounted } = this.#deps
    const { troubled, recovered } = this.#shell.writes.watch()
    return new WaitingLog(
      {
        place: this.#place,
        runtime,
        client,
        consumer,
        redact: binding.deadLetter.redact,
        chains: this.#chains,
        spanLimit: waitingSpan(binding),
        isSourceSettled: (offset) => this.#ledger.isSettled(offset),
        settleSource: (work, as) => this.#settle(work, as),
        workOf: (copy) => this.#waitingWork(copy),
        dueAtOf: (copy) => copyDueAtOf(copy, binding.tiers, runtime.clock),
        opened,
        replaced: () => {
          unaccounted('its waiting topic ends before the committed position: it was truncated, or re-created')
          consumer.seek(this.#place.waiting, 0n)
          this.#waitingLost(0n)
        },
        changed: () => this.#noted(this.#ledger.watermark),
        troubled,
        recovered,
        fail,
      },
      state,
      isCovered,
    )
  }

  #createTurns(log: WaitingLog): KeyTurns {
    const { pauses, scope, writes, backpressure } = this.#shell
    return new KeyTurns({
      worker: this.#deps,
      log,
      chains: this.#chains,
      pauses,
      scope,
      writes,
      isStale: ({ work, entry }) => this.#isOver || (entry === undefined && !this.#shell.isOfEra(work)),
      settleSource: (work, as) => this.#settle(work, as),
      buffered: (bytes) => backpressure.added(bytes),
      started: (bytes) => backpressure.started(bytes),
      ended: (bytes) => this.#shell.ended(bytes),
      changed: (offset) => this.#noted(offset),
    })
  }

  /** Completes the scan. Reports records that should wait and were not found, and counts anew then. */
  #opened(isAnew: boolean): void {
    const log = this.#log as WaitingLog
    const source = this.#ledger.state()
    const [difference] = isAnew ? [] : auditLedgers(source, log.state())
    if (difference !== undefined) this.#deps.unaccounted(describeDifference(difference))
    if (isAnew || difference !== undefined) {
      this.#begin(countedAnew(source))
      log.countAnew()
    }
    this.#noted(this.#ledger.watermark)
  }

  #begin(state: LedgerState): void {
    this.#ledger = new Ledger(state)
    this.#progress.beginAt(state.position)
    this.#shell.startEra()
  }

  /** Resolves when no write is in flight; never rejects. */
  async #end(): Promise<void> {
    this.#isOver = true
    this.#dueTimer.clear()
    await this.#log?.stop()
  }

  #clearQueued(): void {
    this.#chains.clearQueued()
    this.#input.clear()
  }

  #accept(log: WaitingLog, record: KafkaRecord, slice: Slice): void {
    const work = this.#shell.workOf(record, slice, noDistance)
    log.sourceShows(work)
    this.#input.push(work)
    this.#shell.backpressure.added(work.bytes)
  }

  #waitingWork(copy: WaitingRecord): Work {
    const place: WorkPlace = { ...this.#shell.place, kind: 'WAITING', tier: copy.tier }
    return new Work(ownRecord(copy.record), place, this.#shell.slice(), noDistance)
  }

  /** Moves records into their lanes, in the order of the source, and fetches more while there is room. */
  #admit(log: WaitingLog): void {
    const { binding, changed } = this.#deps
    const { pauses, backpressure } = this.#shell
    const limit = this.#progress.startLimit
    const isFull = isWaitingFull(log, binding)
    if (!isFull) this.#input.moveTo(this.#chains, limit)
    if (this.#input.isAt(limit)) changed(true)
    if (isFull) pauses.add('WAITING_FULL')
    else pauses.remove('WAITING_FULL')
    backpressure.apply()
  }

  /** Starts the records that may start. */
  #pump(): void {
    const log = this.#log
    if (log?.isOpen !== true) return
    const { slots } = this.#deps
    for (;;) {
      if (!this.#scope.isRunning || this.#shell.pauses.isHalted) return
      log.keepSpan()
      this.#admit(log)
      if (log.isTooLong) return
      const step = this.#chains.peek(this.#deps.runtime.clock.monotonic())
      if (step === undefined) return this.#waitUntilDue()
      if (step.kind === 'RUN' && !slots.tryTake()) return slots.whenFree(this.#shell.wake)
      this.#chains.take(step)
      if (step.kind === 'RUN') void this.#run(step)
      else this.#turns?.hold(step)
    }
  }

  /** Never rejects. */
  async #run(step: RunStep): Promise<void> {
    await this.#turns?.run(step)
    this.#pump()
  }

  /** Returns false for a record of a log that was cut. */
  #settle(work: Work, as: Settlement): boolean {
    if (!this.#shell.isOfEra(work)) return false
    this.#ledger.settle(work.offset, as)
    return true
  }

  /** Notes a change that could be committed. */
  #noted(offset: bigint): void {
    if (this.#scope.isEnded) return
    this.#progress.changed()
    this.#deps.changed(offset >= this.#progress.urgentFrom)
    this.#scope.look()
    this.#pump()
  }

  #waitUntilDue(): void {
    const at = this.#chains.nextDueAt
    if (at !== undefined) this.#dueTimer.setBy(at)
  }

  #due(): void {
    this.#chains.wake(this.#deps.runtime.clock.monotonic())
    this.#pump()
  }
}

/** Resolves with the work, or after the time. The work never rejects. */
async function within(timers: Timers, ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = timers.schedule(Math.max(0, ms), resolve)
  await Promise.race([work, promise])
  timer[Symbol.dispose]()
}
