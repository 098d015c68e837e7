/**
 * The pending records of one partition, and the ledger of its waiting topic. Decides what each record that is read, each
 * confirmed append and each outcome means for the others. No IO, no clock.
 *
 * Every record that was read and is not settled is one of these. Each has one copy in the log that counts, and the
 * replacement of a copy is in the log before the copy is settled. So each can be moved to the end of the log, and none
 * has to be answered early because it is the lowest.
 *
 * | kept | completes when | while it moves |
 * |---|---|---|
 * | HELD | it succeeded or is dead | does not run, and its key stays blocked |
 * | MARKER | it is released or replayed | its key stays blocked |
 * | copy in doubt | the source shows its original: a duplicate; or does not: it is HELD or MARKER from then on | no record of the source starts |
 * | REPLAY | its original succeeded: a duplicate; or is dead: it is HELD from then on | nothing answers it |
 * | RELEASE | it has ended the marker, or nothing of its original waits any more | nothing answers it |
 *
 * | a move, and then | what follows |
 * |---|---|
 * | a crash before the commit | the next owner finds both copies and takes them for one: the last counts |
 * | a crash after it | the former copy is settled; the new one was not read, so it lies above the position and is found |
 * | its fate is unknown | the appender looks for it up to its next fence, and writes it again if it is not there |
 * | a former owner moved it too | before the fence: as the crash; behind it the broker refuses |
 * | the original has its outcome meanwhile | a request is answered when its new copy was read, and settled with it |
 * | the source shows the original of a copy in doubt | it starts when the new copy was read, and is settled as a duplicate: else a commit could cover the original without the copy, which would count for the next owner |
 */

import type { Work } from '../../delivery/work.ts'
import type { Ledger, WaitingLedgerState } from '../../ledger/ledger.ts'
import { CopiesInDoubt } from './copies-in-doubt.ts'
import type { Fold } from './fold-waiting.ts'
import type { KeyChains } from './key-chains.ts'
import { OperatorRequests } from './operator-requests.ts'
import { type Original, originalId } from './original.ts'
import { WaitingEntries } from './waiting-entries.ts'
import {
  type Append,
  condemnCopy,
  type EntryAppend,
  isCountedAs,
  isSettledMarker,
  newEntry,
  type OperatorRequest,
  type RequestAppend,
  type WaitingEntry,
} from './waiting-entry.ts'
import type { WaitingRead, WaitingRecord } from './waiting-record.ts'

/** The part of the worker that a book needs. */
export interface BookDeps {
  /** Of the waiting topic's partition. */
  readonly ledger: Ledger
  readonly chains: KeyChains
  readonly replaysFinished: bigint
  /** Returns true if an offset of the source is settled, by this owner or before. */
  readonly isSourceSettled: (offset: bigint) => boolean
  /** Returns false for a record of a log that was cut, which does not count. */
  readonly settleSource: (work: Work, as: 'RETRIED' | 'DEAD') => boolean
  readonly workOf: (copy: WaitingRecord) => Work
  readonly dueAtOf: (copy: WaitingRecord) => number
}

/** An entry or request that can move to the end of the log. */
export type Movable =
  | { readonly kind: 'ENTRY'; readonly entry: WaitingEntry }
  | { readonly kind: 'REQUEST'; readonly request: OperatorRequest }

/** See the file's comment. */
export class WaitingBook {
  readonly #deps: BookDeps
  readonly #entries = new WaitingEntries()
  readonly #requests = new OperatorRequests()
  readonly #doubts = new CopiesInDoubt()
  #replaysFinished: bigint

  constructor(deps: BookDeps) {
    this.#deps = deps
    this.#replaysFinished = deps.replaysFinished
  }

  /** The number of originals that wait or block their key. */
  get size(): number {
    return this.#entries.size
  }

  /** The number of all unsettled records, with those that are still to be read. */
  get kept(): number {
    return this.#entries.size + this.#doubts.size + this.#requests.size
  }

  get bytes(): number {
    return this.#entries.bytes
  }

  get waitingNow(): number {
    return this.#entries.waitingNow
  }

  state(): WaitingLedgerState {
    const state = this.#deps.ledger.state()
    return { ...state, replaysFinished: this.#replaysFinished, waitingNow: BigInt(this.waitingNow) }
  }

  /**
   * Starts with the result of a scan. Requests come last: they depend on all other records.
   *
   * @param sourceEnd - the source has no record from here on, so it cannot return one that waits
   */
  begin({ copies, doubtful, settled, replaysFinished, replays, releases }: Fold, sourceEnd: bigint): void {
    for (const { at, as } of settled) this.#deps.ledger.settle(at, as)
    this.#replaysFinished += BigInt(replaysFinished)
    for (const copy of copies.values()) this.#admit(copy, copy.kind)
    for (const copy of doubtful.values())
      if (copy.original.offset < sourceEnd) this.#doubts.add(this.#entryOf(copy, copy.kind))
      else this.#admit(copy, copy.kind)
    for (const request of [...releases, ...replays]) this.#keepRequest(request)
    this.#answerAll()
  }

  /** Accepts a record that was read after the scan. Returns false if no owner may have written it (I3). */
  read(read: WaitingRead): boolean {
    switch (read.kind) {
      case 'FENCE':
        this.#deps.ledger.settle(read.at, 'SKIPPED')
        return true
      case 'FOREIGN':
        this.#deps.ledger.settle(read.at, 'SKIPPED')
        return false
      case 'REPLAY':
      case 'RELEASE':
        this.#keepRequest(read)
        this.#answer(originalId(read.original))
        return true
      case 'HELD':
      case 'MARKER':
        return this.#landed(read, read.kind)
    }
  }

  /** Adds a record of the source to the chain of its key, before it is appended. */
  hold(original: Original): WaitingEntry {
    return this.#add(newEntry(original, 'HELD', 0))
  }

  /** Returns true if the original waits already. */
  has(original: Original): boolean {
    return this.#entries.has(originalId(original))
  }

  /**
   * Returns true if the original was read before the source was cut, and its first copy is not confirmed. Then that copy
   * settles the record as it is read now. Otherwise a commit could cover a record that is not written anywhere (I1).
   */
  isOnItsWay(original: Original, source: Work): boolean {
    const append = this.#entries.get(originalId(original))?.append
    if (append?.source === undefined || append.isConfirmed) return false
    append.source = source
    return true
  }

  /** True while there are copies that may be duplicates: the source has not reached their originals. */
  get hasDoubts(): boolean {
    return this.#doubts.size > 0
  }

  /** True while no record of the source may start: see the file's comment. */
  get isMovingDoubt(): boolean {
    return this.#doubts.isMoving
  }

  /** Notes a record that the source returned: a copy of it is a duplicate. */
  sourceShows(original: Original): void {
    const id = originalId(original)
    this.#doubts.show(id)
    this.#dropDuplicate(id)
  }

  /** Notes that the source is past an offset: copies of originals that it did not return are no duplicates. */
  sourceReached(next: bigint): void {
    this.#keepDoubts(({ offset }) => offset < next)
    if (this.hasRequests) this.#answerAll()
  }

  /** Notes that the source is another log now. */
  sourceReplaced(): void {
    this.#doubts.forgetShown()
    this.#keepDoubts(() => true)
  }

  /** Returns requests whose original the source may not have: its end offset decides. */
  unplacedRequests(): OperatorRequest[] {
    return [...this.#requests].filter(({ copy, isPlaced }) => !isPlaced && !this.#isKnown(copy.original))
  }

  /** Notes the end offset of the source, read after these requests: an original beyond it belongs to a deleted log. */
  sourceEnds(end: bigint, requests: readonly OperatorRequest[]): void {
    for (const request of requests) {
      request.isPlaced = true
      if (request.copy.original.offset >= end) request.outcome = 'DEAD'
    }
    this.#answerAll()
  }

  /** Counts anew from the records that wait now, so that the equations of the audit hold from here on. */
  countAnew(): void {
    const { ok, dead } = this.#deps.ledger.state().counts
    this.#replaysFinished = ok + dead + BigInt(this.waitingNow)
  }

  /** Notes the next copy of an entry. Until it is read, the entry does not change. */
  appending(append: EntryAppend, bytes: number): void {
    append.entry.append = append
    if (this.#entries.has(append.entry.id)) this.#entries.weigh(append.entry, bytes)
    this.#deps.chains.look(append.entry.lane)
  }

  /** Notes the next copy of a request. Until it is read, nothing answers the request. */
  moving(append: RequestAppend): void {
    append.request.move = append
  }

  /** Settles the copy that an append replaces, once it is in the log. The former copy of a request is settled when read. */
  confirmed(append: Append): void {
    if (append.isConfirmed) return
    append.isConfirmed = true
    if (!('entry' in append)) return
    const { entry, source } = append
    if (append.isDeath) this.#dies(entry)
    else this.#settleCopy(entry, 'RETRIED')
    if (source === undefined) return
    const isCounted = this.#deps.settleSource(source, append.isDeath ? 'DEAD' : 'RETRIED')
    this.#entries.count(entry, !append.isDeath)
    if (!isCounted && !append.isDeath) this.#replaysFinished++
  }

  /** Settles an entry, and frees its key for the next. */
  finish(entry: WaitingEntry, as: 'OK' | 'DEAD'): void {
    this.#remove(entry)
    this.#settleCopy(entry, as)
    if (entry.replayCount > 0) this.#replaysFinished++
    this.#outcome(entry.original, as)
  }

  /** Notes the outcome of a source record that never waited. */
  sourceFinished(original: Original, isOk: boolean): void {
    this.#outcome(original, isOk ? 'OK' : 'DEAD')
  }

  /** True while a request waits for an outcome. Otherwise no {@link Original} has to be created for each record. */
  get hasRequests(): boolean {
    return this.#requests.size > 0
  }

  /** Returns the owner of the lowest unsettled copy, unless it runs or moves already. */
  lowestMovable(): Movable | undefined {
    const { watermark } = this.#deps.ledger
    const request = this.#requests.at(watermark)
    if (request !== undefined) return request.move === undefined ? { kind: 'REQUEST', request } : undefined
    const entry = this.#entries.at(watermark) ?? this.#doubts.at(watermark)
    return entry !== undefined && entry.append === undefined && !entry.isRunning ? { kind: 'ENTRY', entry } : undefined
  }

  /** Keeps copies that are no duplicates. They were not counted when they left the source, or that count is gone. */
  #keepDoubts(isPast: (original: Original) => boolean): void {
    for (const entry of this.#doubts.takeMissing(isPast)) {
      this.#add(entry)
      this.#entries.count(entry, isCountedAs(entry))
      if (entry.isCounted) this.#replaysFinished++
      this.#answer(entry.id)
    }
  }

  #dropDuplicate(id: string): void {
    const duplicate = this.#doubts.takeDuplicate(id)
    if (duplicate !== undefined) this.#settleCopy(duplicate, 'SKIPPED')
  }

  #landed(copy: WaitingRecord, kind: 'HELD' | 'MARKER'): boolean {
    const id = originalId(copy.original)
    const doubt = this.#doubts.get(id)
    const entry = doubt ?? this.#entries.get(id)
    const append = entry?.append
    if (entry === undefined || append?.kind !== kind || entry.replayCount !== copy.replayCount) {
      this.#deps.ledger.settle(copy.at, 'SKIPPED')
      return false
    }
    this.confirmed(append)
    entry.append = undefined
    this.#place(entry, copy, kind)
    if (doubt === undefined) this.#settledIn(entry)
    else this.#dropDuplicate(id)
    return true
  }

  #settledIn(entry: WaitingEntry): void {
    this.#entries.weigh(entry, entry.work?.bytes ?? 0)
    this.#answer(entry.id)
    this.#deps.chains.look(entry.lane)
  }

  #keepRequest(copy: WaitingRecord): void {
    const duplicate = this.#requests.keep(copy)
    if (duplicate !== undefined) this.#deps.ledger.settle(duplicate, 'SKIPPED')
  }

  #outcome(original: Original, as: 'OK' | 'DEAD'): void {
    if (!this.hasRequests) return
    const replay = this.#requests.replayOf(originalId(original))
    if (replay !== undefined) replay.outcome = as
    this.#answerAll()
  }

  #answerAll(): void {
    for (const { id } of this.#requests) this.#answer(id)
  }

  /** Answers the requests for an original, as far as possible now. */
  #answer(id: string): void {
    const release = this.#requests.releaseOf(id)
    const marker = this.#entries.get(id)
    const isReleasing = release !== undefined && release.move === undefined
    if (isReleasing && marker !== undefined && isSettledMarker(marker))
      if (release.copy.replayCount >= marker.replayCount) this.#unmark(marker)
    const replay = this.#requests.replayOf(id)
    if (replay !== undefined && replay.move === undefined) this.#answerReplay(replay)
    // A pending replay may die as well: the release may be meant for its marker.
    if (isReleasing && this.#isOver(release) && this.#requests.replayOf(id) === undefined) this.#dismiss(release)
  }

  /** Delivers a dead original again, in its old place in the chain. */
  #answerReplay(replay: OperatorRequest): void {
    const { id, copy, outcome } = replay
    const entry = this.#entries.get(id)
    if (entry !== undefined && copy.replayCount <= entry.replayCount) return this.#dismiss(replay)
    if (entry === undefined ? !this.#isOver(replay) : !isSettledMarker(entry)) return
    if (outcome === 'OK') return this.#dismiss(replay)
    this.#requests.drop(replay)
    if (entry !== undefined) this.#unmark(entry)
    this.#admit(copy, 'HELD')
  }

  #dismiss(request: OperatorRequest): void {
    this.#requests.drop(request)
    this.#deps.ledger.settle(request.copy.at, 'SKIPPED')
  }

  /** Returns true if nothing of the original waits, and the source does not return it again. */
  #isOver({ id, copy, outcome }: OperatorRequest): boolean {
    return !this.#entries.has(id) && (outcome !== undefined || this.#deps.isSourceSettled(copy.original.offset))
  }

  #isKnown(original: Original): boolean {
    return this.has(original) || this.#deps.isSourceSettled(original.offset)
  }

  #admit(copy: WaitingRecord, state: 'HELD' | 'MARKER'): void {
    const entry = this.#add(this.#entryOf(copy, state))
    this.#entries.count(entry, isCountedAs(entry))
  }

  #entryOf(copy: WaitingRecord, state: 'HELD' | 'MARKER'): WaitingEntry {
    const entry = newEntry(copy.original, state, copy.replayCount)
    this.#place(entry, copy, state)
    return entry
  }

  #place(entry: WaitingEntry, copy: WaitingRecord, state: 'HELD' | 'MARKER'): void {
    entry.state = state
    entry.at = copy.at
    entry.work = state === 'HELD' ? this.#deps.workOf(copy) : undefined
    entry.dueAt = entry.condemned === undefined ? this.#deps.dueAtOf(copy) : 0
    condemnCopy(entry)
  }

  #add(entry: WaitingEntry): WaitingEntry {
    this.#entries.add(entry)
    this.#deps.chains.block(entry)
    return entry
  }

  #remove(entry: WaitingEntry): void {
    this.#entries.remove(entry)
    this.#deps.chains.unblock(entry)
  }

  #dies(entry: WaitingEntry): void {
    if (entry.at === undefined) return
    this.#settleCopy(entry, 'DEAD')
    this.#entries.count(entry, false)
    if (entry.replayCount > 0) this.#replaysFinished++
  }

  #unmark(entry: WaitingEntry): void {
    this.#remove(entry)
    this.#settleCopy(entry, 'SKIPPED')
  }

  #settleCopy(entry: WaitingEntry, as: 'OK' | 'RETRIED' | 'DEAD' | 'SKIPPED'): void {
    if (entry.at !== undefined) this.#deps.ledger.settle(entry.at, as)
    entry.at = undefined
  }
}
