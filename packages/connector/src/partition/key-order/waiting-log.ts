/**
 * The waiting topic of a partition: reads it up to its own fence, then appends and reads pending records, and keeps the
 * span that a commit has to remember small.
 *
 *     SCANNING ── own fence was read ──▶ OPEN ── stop ──▶ STOPPED
 */

import type { Runtime } from '@waybill/core'
import type { KafkaClient, KafkaRecord, OutRecord } from '@waybill/kafka'
import type { Work } from '../../delivery/work.ts'
import { Ledger, type WaitingLedgerState } from '../../ledger/ledger.ts'
import { widestOffsetSet } from '../../ledger/offset-set.ts'
import type { Failure } from '../../records/failure.ts'
import type { Redact } from '../../records/failure-text.ts'
import type { WorkerConsumer } from '../partition-worker.ts'
import { foldWaiting } from './fold-waiting.ts'
import { keyOf, laneOf, type Original } from './original.ts'
import { RequestPlacement } from './request-placement.ts'
import { sourceEndOf } from './source-end.ts'
import { WaitingAppender } from './waiting-appender.ts'
import { type BookDeps, WaitingBook } from './waiting-book.ts'
import {
  type Append,
  briefFailure,
  type EntryAppend,
  type OperatorRequest,
  type WaitingEntry,
} from './waiting-entry.ts'
import {
  decodeWaiting,
  heldRecord,
  markerRecord,
  type NextDelivery,
  repeatedRecord,
  type WaitingPlace,
  type WaitingRead,
} from './waiting-record.ts'
import { WaitingUpkeep } from './waiting-upkeep.ts'

/** The collaborators of a log. */
export interface WaitingLogDeps extends Omit<BookDeps, 'ledger' | 'replaysFinished'> {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  readonly client: Pick<KafkaClient, 'fencedAppender' | 'admin'>
  readonly consumer: Pick<WorkerConsumer, 'confirmMembership'>
  /** Removes secrets from texts of failures. */
  readonly redact: Redact
  /** Called when the log is not the one that was read so far: see the appender. */
  readonly replaced: () => void
  /** The distance of the log's end from the lowest unsettled record at which that record is moved. */
  readonly spanLimit: number
  /** Called when the scan is complete: records of the source may run. */
  readonly opened: () => void
  /** Called when something settled, or another record may run. */
  readonly changed: () => void
  readonly troubled: (error: Error) => void
  readonly recovered: () => void
  readonly fail: (error: unknown) => void
}

/** The broker limits the size of a record; the client must not. */
const appenderBytes = 256 * 1024 * 1024

/** See the file's comment. */
export class WaitingLog {
  readonly #deps: WaitingLogDeps
  readonly #ledger: Ledger
  readonly #book: WaitingBook
  readonly #appender: WaitingAppender
  readonly #placement: RequestPlacement
  readonly #upkeep: WaitingUpkeep
  readonly #isCovered: (offset: bigint) => boolean
  #scanned: WaitingRead[] | undefined = []
  #next: bigint
  readonly #stopped = new AbortController()

  constructor(deps: WaitingLogDeps, state: WaitingLedgerState, isCovered: (offset: bigint) => boolean) {
    this.#deps = deps
    this.#ledger = new Ledger(state)
    this.#book = new WaitingBook({ ...deps, ledger: this.#ledger, replaysFinished: state.replaysFinished })
    this.#isCovered = isCovered
    this.#next = state.position
    const { place, runtime, client, consumer, changed, troubled, recovered, fail } = deps
    const { signal } = this.#stopped
    this.#placement = new RequestPlacement({
      book: this.#book,
      source: place.source,
      client,
      runtime,
      signal,
      changed,
      fail,
    })
    this.#appender = new WaitingAppender({
      place,
      runtime,
      takeEpoch: (ended) =>
        client.fencedAppender(
          fenceId(place),
          { maxRecordBytes: appenderBytes, maxBufferedBytes: appenderBytes },
          ended,
        ),
      confirmMembership: () => consumer.confirmMembership(),
      confirmed: (append) => this.#confirmed(append),
      fenced: () => this.#fenced(),
      replaced: deps.replaced,
      troubled,
      recovered,
      fail,
    })
    const renew = (): void => this.#appender.renew()
    this.#upkeep = new WaitingUpkeep({ place, runtime, client, renew, fail }, state.position)
  }

  /** True once the scan is complete. */
  get isOpen(): boolean {
    return this.#scanned === undefined
  }

  /** Originals that wait or block their key. */
  get size(): number {
    return this.#book.size
  }

  get bytes(): number {
    return this.#book.bytes
  }

  /** See {@link WaitingBook.waitingNow}. */
  get waitingNow(): number {
    return this.#book.waitingNow
  }

  /** Everything below it was read, or is a gap. */
  get next(): bigint {
    return this.#next
  }

  /**
   * True while a commit should not remember more of the log: nothing starts that would make it longer, and the lowest
   * record is moved. False while more than half of it is kept: a move only saves the settled records behind the lowest,
   * so a dense log would be moved over and over. With this rule each kept record is moved at most once before the log is
   * short enough.
   */
  get isTooLong(): boolean {
    return this.#span > Math.max(this.#deps.spanLimit, 2 * this.#book.kept)
  }

  /** False while a commit cannot remember everything that is settled. */
  get isCommittable(): boolean {
    return this.#span <= widestOffsetSet
  }

  /** See {@link WaitingBook.isMovingDoubt}. */
  get isMovingDoubt(): boolean {
    return this.#book.isMovingDoubt
  }

  get #span(): number {
    return Number(this.#next - this.#ledger.watermark)
  }

  get unconfirmed(): number {
    return this.#appender.unconfirmed
  }

  /** True when no request is in flight. Appends that wait for a read do not count: it may take any time. */
  get isIdle(): boolean {
    return this.#appender.unconfirmed === 0 || this.#appender.isFencing
  }

  /** True when an operator's request waits for an outcome. */
  get hasRequests(): boolean {
    return this.#book.hasRequests
  }

  state(): WaitingLedgerState {
    return this.#book.state()
  }

  start(): void {
    this.#appender.start(this.#next)
    this.#upkeep.start()
  }

  /** Resolves when no append is in flight; never rejects. */
  stop(): Promise<void> {
    this.#stopped.abort()
    this.#upkeep.stop()
    return this.#appender.stop()
  }

  /** Accepts a record of the waiting topic, in the order of the log. */
  accept(record: KafkaRecord): void {
    const isNew = this.#ledger.fetched(record.offset)
    if (isNew) this.#read(decodeWaiting(record, this.#deps.place))
    this.#appender.readTo(record.offset + 1n)
    this.#reached(record.offset + 1n)
  }

  /** Notes that the log has no further record below an offset. */
  reached(next: bigint): void {
    this.#ledger.reached(next)
    this.#reached(next)
  }

  /** Returns true if a copy of the record waits already. */
  has(work: Work, lane: string): boolean {
    return this.#book.has(originalOf(work, lane))
  }

  /** See {@link WaitingBook.isOnItsWay}. */
  isOnItsWay(work: Work, lane: string): boolean {
    return this.#book.isOnItsWay(originalOf(work, lane), work)
  }

  /** Holds a record of the source: for its next attempt, or behind others of its key. */
  hold(work: Work, lane: string, next: Omit<NextDelivery, 'replayCount'>, failure: Failure | undefined): void {
    const entry = this.#book.hold(originalOf(work, lane))
    entry.failed = failure === undefined ? work.kept : briefFailure({ failure, trail: work.trail }, this.#deps.redact)
    if (work.condemned !== undefined) entry.condemned = entry.failed
    this.#append(entry, 'HELD', this.#heldRecord(entry, work, next, failure), { source: work })
  }

  /** Holds a record again whose attempt failed. */
  holdAgain(entry: WaitingEntry, next: Omit<NextDelivery, 'replayCount'>, failure: Failure): void {
    const work = entry.work as Work
    entry.failed = briefFailure({ failure, trail: work.trail }, this.#deps.redact)
    this.#append(entry, 'HELD', this.#heldRecord(entry, work, next, failure))
  }

  /** Blocks the key of a record whose dead letter is confirmed. */
  block(work: Work, lane: string, entry: WaitingEntry | undefined): void {
    const blocking = entry ?? this.#book.hold(originalOf(work, lane))
    const record = markerRecord(this.#deps.place, blocking.original, blocking.replayCount)
    this.#append(blocking, 'MARKER', record, { ...(entry === undefined ? { source: work } : {}), isDeath: true })
  }

  /** Settles a held record. */
  finish(entry: WaitingEntry, as: 'OK' | 'DEAD'): void {
    this.#book.finish(entry, as)
  }

  /** Notes the outcome of a source record that never waited. */
  sourceFinished(work: Work, lane: string, isOk: boolean): void {
    this.#book.sourceFinished(originalOf(work, lane), isOk)
  }

  /** See {@link WaitingBook.sourceShows}. */
  sourceShows(work: Work): void {
    if (!this.#book.hasDoubts) return
    this.#book.sourceShows(originalOf(work, laneOf(work.record)))
    this.#book.sourceReached(work.offset + 1n)
  }

  /** See {@link WaitingBook.sourceReached}. */
  sourceReached(next: bigint): void {
    if (!this.#book.hasDoubts && !this.#book.hasRequests) return
    const { size, kept } = this.#book
    this.#book.sourceReached(next)
    // Held records may run now, and answered requests may be committed. Nothing else may trigger that for a long time.
    if (this.#book.size !== size || this.#book.kept !== kept) this.#deps.changed()
  }

  /** Notes that the source is another log now. */
  sourceReplaced(): void {
    this.#book.sourceReplaced()
    this.countAnew()
  }

  /** See {@link WaitingBook.countAnew}. */
  countAnew(): void {
    this.#book.countAnew()
  }

  /** Notes the committed position of the waiting topic. */
  committed(position: bigint): void {
    this.#upkeep.committed(position)
  }

  #heldRecord(
    { original, replayCount }: WaitingEntry,
    work: Work,
    next: Omit<NextDelivery, 'replayCount'>,
    failure: Failure | undefined,
  ): OutRecord {
    const { place, runtime } = this.#deps
    const record = heldRecord(place, work.hop(failure, runtime.clock.now()), { ...next, replayCount })
    // As it was fetched: a handler that changed its bytes changes neither its identity nor its order.
    return { ...record, key: original.key }
  }

  #append(
    entry: WaitingEntry,
    kind: EntryAppend['kind'],
    record: OutRecord,
    { source, isDeath = false }: { source?: Work; isDeath?: boolean } = {},
  ): void {
    const append: EntryAppend = { entry, kind, record, source, isDeath, isConfirmed: false }
    this.#book.appending(append, (record.key?.length ?? 0) + (record.value?.length ?? 0))
    this.#appender.append(append)
  }

  #confirmed(append: Append): void {
    this.#book.confirmed(append)
    this.#deps.changed()
  }

  #read(read: WaitingRead): void {
    if (this.#scanned !== undefined) {
      this.#scanned.push(read)
      return
    }
    if (!this.#book.read(read)) this.#warnForeign(read.at)
    if (read.kind === 'REPLAY' || read.kind === 'RELEASE') void this.#placement.look()
  }

  #warnForeign(offset: bigint): void {
    const { runtime, place } = this.#deps
    runtime.logger.error({ ...place.waiting, offset }, 'Foreign record in the waiting topic skipped')
  }

  #reached(next: bigint): void {
    if (next <= this.#next) return
    this.#next = next
    if (this.#scanned === undefined) this.#deps.changed()
  }

  /** Every fence ends a search for appends with an unknown result; the first one ends the scan too. */
  #fenced(): void {
    const scanned = this.#scanned
    if (scanned === undefined) return
    if (foldWaiting(scanned, this.#isCovered).doubtful.size === 0) this.#begin(scanned, 0n)
    else void this.#beginInDoubt(scanned)
  }

  /** Never rejects. */
  async #beginInDoubt(scanned: readonly WaitingRead[]): Promise<void> {
    const { signal } = this.#stopped
    const { place, client, runtime, troubled, recovered, fail } = this.#deps
    try {
      const sourceEnd = await sourceEndOf(place.source, { client, runtime, failed: troubled }, signal)
      if (signal.aborted) return
      recovered()
      this.#begin(scanned, sourceEnd)
    } catch (error) {
      if (!signal.aborted) fail(error)
    }
  }

  #begin(scanned: readonly WaitingRead[], sourceEnd: bigint): void {
    this.#scanned = undefined
    for (const { kind, at } of scanned) if (kind === 'FOREIGN') this.#warnForeign(at)
    this.#book.begin(foldWaiting(scanned, this.#isCovered), sourceEnd)
    this.#deps.opened()
    void this.#placement.look()
  }

  /** Moves the lowest record before a commit, with one bit for each offset above it, gets too long. */
  keepSpan(): void {
    if (!this.isTooLong) return
    const lowest = this.#book.lowestMovable()
    if (lowest?.kind === 'ENTRY') this.#moveEntry(lowest.entry)
    else if (lowest?.kind === 'REQUEST') this.#moveRequest(lowest.request)
  }

  #moveEntry(entry: WaitingEntry): void {
    const { state, original, replayCount, work } = entry
    if (state === 'MARKER') this.#append(entry, 'MARKER', markerRecord(this.#deps.place, original, replayCount))
    else this.#append(entry, 'HELD', this.#sameRecord(entry, work as Work))
  }

  #moveRequest(request: OperatorRequest): void {
    const { copy } = request
    const record = repeatedRecord(this.#deps.place, copy)
    const append: Append = { request, replayCount: copy.replayCount, record, isConfirmed: false }
    this.#book.moving(append)
    this.#appender.append(append)
  }

  /** Returns the copy again, with the same due time and attempt. */
  #sameRecord(entry: WaitingEntry, work: Work): OutRecord {
    const { clock } = this.#deps.runtime
    const { tier, attempt } = work.trail
    const dueMs = clock.now() + Math.max(0, Math.ceil(entry.dueAt - clock.monotonic()))
    return this.#heldRecord(entry, work, { tier, attempt, dueMs }, undefined)
  }
}

/** Returns the transactional id of the owner. Another user of it is the next owner, or believes to be. */
function fenceId({ source, waiting, groupId }: WaitingPlace): string {
  return `${source.topic}.${groupId}.waiting.${waiting.partition}`
}

/** Returns the identity with the key as it was fetched: a handler may have changed the record's. */
function originalOf({ trail }: Work, lane: string): Original {
  const { offset, timestamp } = trail.original
  return { offset, timestamp, key: keyOf(lane) }
}
