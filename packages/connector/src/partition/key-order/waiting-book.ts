/**
 * All that waits of one partition, and the ledger of its waiting topic. It decides what each record that is read, each
 * confirmed append and each outcome means for the others; it does no IO and knows no time (D21, D22).
 *
 * Whatever was read and is not settled is one of these. Each has one copy in the log that counts, and whatever replaces
 * a copy is in the log before the copy is settled. So any of them can be moved to the end of the log, and none has to be
 * answered before its time only because it is the lowest.
 *
 * | kept | is over when | while it moves |
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
  type EntryAppend,
  isCountedAs,
  isSettledMarker,
  newEntry,
  type OperatorRequest,
  type RequestAppend,
  type WaitingEntry,
} from './waiting-entry.ts'
import type { WaitingRead, WaitingRecord } from './waiting-record.ts'

/** What a book asks of its worker. */
export interface BookDeps {
  /** Of the waiting topic's partition. */
  readonly ledger: Ledger
  readonly chains: KeyChains
  readonly replaysFinished: bigint
  /** Whether an offset of the source is settled, by this owner or before. */
  readonly isSourceSettled: (offset: bigint) => boolean
  /** False: it was read before counting began anew, and does not count. */
  readonly settleSource: (work: Work, as: 'RETRIED' | 'DEAD') => boolean
  readonly workOf: (copy: WaitingRecord) => Work
  readonly dueAtOf: (copy: WaitingRecord) => number
}

/** What can be written again at the end of the log. */
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

  /** Originals that wait or block their key. */
  get size(): number {
    return this.#entries.size
  }

  /** Everything that is not settled, or will be read and not be settled. */
  get kept(): number {
    return this.#entries.size + this.#doubts.size + this.#requests.size
  }

  get bytes(): number {
    return this.#entries.bytes
  }

  /** See {@link WaitingEntries.waitingNow}. */
  get waitingNow(): number {
    return this.#entries.waitingNow
  }

  state(): WaitingLedgerState {
    const state = this.#deps.ledger.state()
    return { ...state, replaysFinished: this.#replaysFinished, waitingNow: BigInt(this.waitingNow) }
  }

  /**
   * Begins with what a scan found. Requests come last: they are about what all other records say.
   *
   * @param sourceEnd - the source has no record from here on, so it does not bring one that waits a second time
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

  /** Takes a record that was read after the scan. False: nobody may have written it here (I3). */
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

  /** A record of the source joins the chain of its key, from this moment on: it will be appended. */
  hold(original: Original): WaitingEntry {
    return this.#add(newEntry(original, 'HELD', 0))
  }

  /** Whether the original waits already. */
  has(original: Original): boolean {
    return this.#entries.has(originalId(original))
  }

  /**
   * Whether the original was read before the source was cut, and its first copy is not confirmed: then the copy settles the
   * record as it is read now, and nothing does before. Else a commit could cover a record of which nothing is written (I1).
   */
  isOnItsWay(original: Original, source: Work): boolean {
    const append = this.#entries.get(originalId(original))?.append
    if (append?.source === undefined || append.isConfirmed) return false
    append.source = source
    return true
  }

  /** Whether there are copies of which the source has not shown yet if they are duplicates. */
  get hasDoubts(): boolean {
    return this.#doubts.size > 0
  }

  /** No record of the source may start: see the file's comment. */
  get isMovingDoubt(): boolean {
    return this.#doubts.isMoving
  }

  /** The source brings this record: a copy of it is a duplicate. */
  sourceShows(original: Original): void {
    const id = originalId(original)
    this.#doubts.show(id)
    this.#dropDuplicate(id)
  }

  /** The source brings nothing below `next` any more: copies of what it did not show are no duplicates. */
  sourceReached(next: bigint): void {
    this.#keepDoubts(({ offset }) => offset < next)
    if (this.hasRequests) this.#answerAll()
  }

  /** The source is another log now. */
  sourceReplaced(): void {
    this.#doubts.forgetShown()
    this.#keepDoubts(() => true)
  }

  /** Requests whose original the source may not have: it has to be asked where it ends. */
  unplacedRequests(): OperatorRequest[] {
    return [...this.#requests].filter(({ copy, isPlaced }) => !isPlaced && !this.#isKnown(copy.original))
  }

  /** The source has no record from `end` on, and was asked after these came: one beyond is of a log that is no more. */
  sourceEnds(end: bigint, requests: readonly OperatorRequest[]): void {
    for (const request of requests) {
      request.isPlaced = true
      if (request.copy.original.offset >= end) request.outcome = 'DEAD'
    }
    this.#answerAll()
  }

  /** What waits now left the source before anything of it was counted: all equations hold from here on. */
  countAnew(): void {
    const { ok, dead } = this.#deps.ledger.state().counts
    this.#replaysFinished = ok + dead + BigInt(this.waitingNow)
  }

  /** The entry's next copy is on its way; until it is read, nothing else happens to the entry. */
  appending(append: EntryAppend, bytes: number): void {
    append.entry.append = append
    if (this.#entries.has(append.entry.id)) this.#entries.weigh(append.entry, bytes)
    this.#deps.chains.look(append.entry.lane)
  }

  /** The request is written once more; until that is read, nothing answers it. */
  moving(append: RequestAppend): void {
    append.request.move = append
  }

  /** The append is in the log: what it replaces is settled by that. A request's former copy is when it was read. */
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

  /** The entry has its outcome, and its key is free for the next. */
  finish(entry: WaitingEntry, as: 'OK' | 'DEAD'): void {
    this.#remove(entry)
    this.#settleCopy(entry, as)
    if (entry.replayCount > 0) this.#replaysFinished++
    this.#outcome(entry.original, as)
  }

  /** A record of the source has its outcome without ever having waited. */
  sourceFinished(original: Original, isOk: boolean): void {
    this.#outcome(original, isOk ? 'OK' : 'DEAD')
  }

  /** Whether somebody waits for an outcome: who asks need not make an {@link Original} of each record otherwise. */
  get hasRequests(): boolean {
    return this.#requests.size > 0
  }

  /** What has the lowest copy that is not settled, unless it runs or is on its way already. */
  lowestMovable(): Movable | undefined {
    const { watermark } = this.#deps.ledger
    const request = this.#requests.at(watermark)
    if (request !== undefined) return request.move === undefined ? { kind: 'REQUEST', request } : undefined
    const entry = this.#entries.at(watermark) ?? this.#doubts.at(watermark)
    const isFree = entry !== undefined && entry.append === undefined && !entry.isRunning
    return isFree ? { kind: 'ENTRY', entry } : undefined
  }

  /** No duplicates: they wait as the others do. They were not counted when they left the source, or that count is gone. */
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

  /** What operators asked of an original, as far as it can be answered now. */
  #answer(id: string): void {
    const release = this.#requests.releaseOf(id)
    const marker = this.#entries.get(id)
    const isReleasing = release !== undefined && release.move === undefined
    if (isReleasing && marker !== undefined && isSettledMarker(marker))
      if (release.copy.replayCount >= marker.replayCount) this.#unmark(marker)
    const replay = this.#requests.replayOf(id)
    if (replay !== undefined && replay.move === undefined) this.#answerReplay(replay)
    // A replay that is still to come may die as well: its marker is what the release may be about.
    if (isReleasing && this.#isOver(release) && this.#requests.replayOf(id) === undefined) this.#dismiss(release)
  }

  /** A dead original is delivered once more, in its old place in the chain. */
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

  /** Nothing of the original waits, and the source does not bring it again. */
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
    entry.dueAt = this.#deps.dueAtOf(copy)
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
