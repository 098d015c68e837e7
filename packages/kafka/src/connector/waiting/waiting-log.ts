/**
 * A partition's waiting topic in the hands of its owner: reads it to the own fence first, then writes and reads what
 * waits, keeps the span that a commit has to remember small, and deletes what nobody will read again (D21).
 *
 *     SCANNING ── own fence was read ──▶ OPEN ── stop ──▶ STOPPED
 */

import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '../../client/kafka-client.ts'
import type { KafkaRecord, OutRecord } from '../../client/types.ts'
import type { WorkerConsumer } from '../container/partition-worker.ts'
import type { Work } from '../container/work.ts'
import type { Failure } from '../delivery/outcome.ts'
import { Ledger, type WaitingLedgerState } from '../ledger/ledger.ts'
import { widestOffsetSet } from '../ledger/offset-set.ts'
import { foldWaiting } from './fold-waiting.ts'
import type { KeyChains } from './key-chains.ts'
import { keyOf, laneOf, type Original } from './original.ts'
import { WaitingAppender } from './waiting-appender.ts'
import { type BookDeps, WaitingBook } from './waiting-book.ts'
import type { Append, WaitingEntry } from './waiting-entry.ts'
import {
  decodeWaiting,
  heldRecord,
  markerRecord,
  type NextDelivery,
  type WaitingPlace,
  type WaitingRead,
} from './waiting-record.ts'

/** What the log asks of its worker. */
export interface WaitingLogDeps extends Omit<BookDeps, 'ledger' | 'replaysFinished'> {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  readonly client: Pick<KafkaClient, 'fencedAppender' | 'admin'>
  readonly consumer: Pick<WorkerConsumer, 'confirmMembership'>
  /** The log is another one than was read so far: see the appender. */
  readonly replaced: () => void
  /** Furthest that the log's end may be from the lowest record that is not settled, before that one is moved. */
  readonly spanLimit: number
  readonly chains: KeyChains
  /** The scan is over: records of the source may run. */
  readonly opened: () => void
  /** Something settled, or something may run that could not before. */
  readonly changed: () => void
  readonly troubled: (error: Error) => void
  readonly recovered: () => void
  readonly fail: (error: unknown) => void
}

/** A transactional id that nobody uses is forgotten after 7 days; nobody notices one renewal a day. */
const renewalMs = 24 * 3_600_000

/** How long a broker that did not say where the source ends is left alone. */
const askAgainMs = 1_000

/** A broker says what is too large; this client only has to hold it. */
const appenderBytes = 256 * 1024 * 1024

/** See the file's comment. */
export class WaitingLog {
  readonly #deps: WaitingLogDeps
  readonly #ledger: Ledger
  readonly #book: WaitingBook
  readonly #appender: WaitingAppender
  readonly #isCovered: (offset: bigint) => boolean
  #scanned: WaitingRead[] | undefined = []
  #next: bigint
  #committed: bigint
  #committedAtRenewal: bigint | undefined
  #renewal: Disposable | undefined
  readonly #stopped = new AbortController()

  constructor(deps: WaitingLogDeps, state: WaitingLedgerState, isCovered: (offset: bigint) => boolean) {
    this.#deps = deps
    this.#ledger = new Ledger(state)
    this.#book = new WaitingBook({ ...deps, ledger: this.#ledger, replaysFinished: state.replaysFinished })
    this.#isCovered = isCovered
    this.#next = state.position
    this.#committed = state.position
    const { place, runtime, client, consumer, troubled, recovered, fail } = deps
    this.#appender = new WaitingAppender({
      place,
      runtime,
      takeEpoch: () =>
        client.fencedAppender(fenceId(place), { maxRecordBytes: appenderBytes, maxBufferedBytes: appenderBytes }),
      confirmMembership: () => consumer.confirmMembership(),
      confirmed: (append) => this.#confirmed(append),
      fenced: () => this.#fenced(),
      replaced: deps.replaced,
      troubled,
      recovered,
      fail,
    })
  }

  /** True once the scan is over. */
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

  /** Everything below it was read, or is a hole. */
  get next(): bigint {
    return this.#next
  }

  /** True while a commit could not remember more of the log: nothing starts that would make it longer. */
  get isTooLong(): boolean {
    return Number(this.#next - this.#ledger.watermark) > this.#deps.spanLimit
  }

  /** False while a commit could not even remember what is settled. */
  get isCommittable(): boolean {
    return Number(this.#next - this.#ledger.watermark) <= widestOffsetSet
  }

  get unconfirmed(): number {
    return this.#appender.unconfirmed
  }

  /** Nothing is under way that would be over soon. What needs to be read first may take as long as it likes. */
  get isIdle(): boolean {
    return this.#appender.unconfirmed === 0 || this.#appender.isFencing
  }

  /** Whether an operator's request waits for an outcome. */
  get hasRequests(): boolean {
    return this.#book.hasRequests
  }

  state(): WaitingLedgerState {
    return this.#book.state()
  }

  start(): void {
    this.#appender.start(this.#next)
    this.#scheduleRenewal()
  }

  /** Resolves when no append is under way any more; never rejects. */
  stop(): Promise<void> {
    this.#stopped.abort()
    this.#renewal?.[Symbol.dispose]()
    return this.#appender.stop()
  }

  /** Takes a record of the waiting topic, in the order of the log. */
  accept(record: KafkaRecord): void {
    const isNew = this.#ledger.fetched(record.offset)
    if (isNew) this.#read(decodeWaiting(record, this.#deps.place))
    this.#appender.readTo(record.offset + 1n)
    this.#reached(record.offset + 1n)
  }

  /** The log has nothing more below this offset. */
  reached(next: bigint): void {
    this.#ledger.reached(next)
    this.#reached(next)
  }

  /** Whether the record waits already: as a copy of which the source knows nothing. */
  has(work: Work, lane: string): boolean {
    return this.#book.has(originalOf(work, lane))
  }

  /** A record of the source waits from now on: for its next attempt, or behind others of its key. */
  hold(work: Work, lane: string, next: Omit<NextDelivery, 'replayCount'>, failure: Failure | undefined): void {
    const entry = this.#book.hold(originalOf(work, lane))
    this.#append(entry, 'HELD', this.#heldRecord(entry, work, next, failure), { source: work })
  }

  /** A record that waited has failed again. */
  holdAgain(entry: WaitingEntry, next: Omit<NextDelivery, 'replayCount'>, failure: Failure): void {
    this.#append(entry, 'HELD', this.#heldRecord(entry, entry.work as Work, next, failure))
  }

  /** A dead letter of the record is confirmed, and its key stays blocked. */
  block(work: Work, lane: string, entry: WaitingEntry | undefined): void {
    const blocking = entry ?? this.#book.hold(originalOf(work, lane))
    const record = markerRecord(this.#deps.place, blocking.original, blocking.replayCount)
    this.#append(blocking, 'MARKER', record, { ...(entry === undefined ? { source: work } : {}), isDeath: true })
  }

  /** A record that waited has its outcome. */
  finish(entry: WaitingEntry, as: 'OK' | 'DEAD'): void {
    this.#book.finish(entry, as)
    this.keepSpan()
  }

  /** A record of the source has its outcome and never waited. */
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
    if (this.#book.hasDoubts) this.#book.sourceReached(next)
  }

  /** The source is another log now, and counting begins anew. */
  sourceReplaced(): void {
    this.#book.sourceReplaced()
    this.countAnew()
  }

  /** See {@link WaitingBook.countAnew}; nothing of the source is counted. */
  countAnew(): void {
    this.#book.countAnew(0n)
  }

  /** The group remembers this position of the waiting topic. */
  committed(position: bigint): void {
    this.#committed = position
  }

  #heldRecord(
    { original, replayCount }: WaitingEntry,
    work: Work,
    next: Omit<NextDelivery, 'replayCount'>,
    failure: Failure | undefined,
  ): OutRecord {
    const { place, runtime } = this.#deps
    const record = heldRecord(place, work.hop(failure, runtime.clock.now()), { ...next, replayCount })
    // As it was fetched: a handler that changed its bytes changes neither the record's place nor its order.
    return { ...record, key: original.key }
  }

  #append(
    entry: WaitingEntry,
    kind: Append['kind'],
    record: OutRecord,
    { source, isDeath = false }: { source?: Work; isDeath?: boolean } = {},
  ): void {
    const append: Append = { entry, kind, record, source, isDeath, isConfirmed: false }
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
  }

  #warnForeign(offset: bigint): void {
    const { runtime, place } = this.#deps
    runtime.logger.error(
      { ...place.waiting, offset },
      'A record of the waiting topic is not of this owner: passed over',
    )
  }

  #reached(next: bigint): void {
    if (next <= this.#next) return
    this.#next = next
    if (this.#scanned !== undefined) return
    this.keepSpan()
    this.#deps.changed()
  }

  /** Every fence ends a search for appends of unknown fate; the first ends the scan too. */
  #fenced(): void {
    const scanned = this.#scanned
    if (scanned === undefined) return
    if (foldWaiting(scanned, this.#isCovered).doubtful.size === 0) this.#begin(scanned, 0n)
    else void this.#beginInDoubt(scanned)
  }

  /** Never rejects. */
  async #beginInDoubt(scanned: readonly WaitingRead[]): Promise<void> {
    const { signal } = this.#stopped
    try {
      const sourceEnd = await this.#sourceEnd()
      if (!signal.aborted) this.#begin(scanned, sourceEnd)
    } catch (error) {
      if (!signal.aborted) this.#deps.fail(error)
    }
  }

  #begin(scanned: readonly WaitingRead[], sourceEnd: bigint): void {
    this.#scanned = undefined
    for (const { kind, at } of scanned) if (kind === 'FOREIGN') this.#warnForeign(at)
    this.#book.begin(foldWaiting(scanned, this.#isCovered), sourceEnd)
    this.#deps.opened()
    this.keepSpan()
  }

  /** Asks until it is answered. Rejects when this is stopped. */
  async #sourceEnd(): Promise<bigint> {
    const { client, place, runtime, troubled, recovered } = this.#deps
    for (;;) {
      try {
        const [answer] = await client.admin.listOffsets([place.source], 'LATEST')
        recovered()
        if (answer?.outcome === 'DONE') return answer.offset ?? 0n
      } catch (error) {
        troubled(error as Error)
      }
      await runtime.timers.sleep(askAgainMs, this.#stopped.signal)
    }
  }

  /** A commit remembers one bit for each offset above the lowest: that one is written again before they are too many. */
  keepSpan(): void {
    if (!this.isTooLong) return
    this.#book.answerLowest()
    const lowest = this.#book.lowestMovable()
    if (lowest === undefined) return
    const { place } = this.#deps
    const { state, original, replayCount, work } = lowest
    if (state === 'MARKER') this.#append(lowest, 'MARKER', markerRecord(place, original, replayCount))
    else this.#append(lowest, 'HELD', this.#sameRecord(lowest, work as Work))
  }

  /** The copy once more: due when it was, and nothing was tried meanwhile. */
  #sameRecord(entry: WaitingEntry, work: Work): OutRecord {
    const { clock } = this.#deps.runtime
    const { tier, attempt } = work.trail
    const dueMs = clock.now() + Math.max(0, Math.ceil(entry.dueAt - clock.monotonic()))
    return this.#heldRecord(entry, work, { tier, attempt, dueMs }, undefined)
  }

  #scheduleRenewal(): void {
    this.#renewal = this.#deps.runtime.timers.schedule(renewalMs, () => {
      this.#appender.renew()
      this.#deletePast().catch(this.#deps.fail)
      this.#scheduleRenewal()
    })
  }

  /** No commit that is still under way can set the position back to before the last renewal. */
  async #deletePast(): Promise<void> {
    const { client, place, runtime } = this.#deps
    const before = this.#committedAtRenewal
    this.#committedAtRenewal = this.#committed
    if (before === undefined || before === 0n) return
    try {
      await client.admin.deleteRecords([{ ...place.waiting, before }])
    } catch (error) {
      // Nothing depends on it: the next renewal deletes what this one did not.
      runtime.logger.warn({ ...place.waiting, err: error }, 'Records that are done with could not be deleted')
    }
  }
}

/** Who else takes it is the owner's successor, or believes to be. */
function fenceId({ source, waiting, groupId }: WaitingPlace): string {
  return `${source.topic}.${groupId}.waiting.${waiting.partition}`
}

/** The key as it was fetched: a handler may have changed the record's. */
function originalOf({ trail }: Work, lane: string): Original {
  const { offset, timestamp } = trail.original
  return { offset, timestamp, key: keyOf(lane) }
}
