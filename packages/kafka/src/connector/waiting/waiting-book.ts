/**
 * All that waits of one partition, and the ledger of its waiting topic. It decides what each record that is read, each
 * confirmed append and each outcome means for the others; it does no IO and knows no time (D21, D22).
 *
 * Each entry has one copy in the log that counts. Whatever replaces a copy is in the log before the copy is settled.
 */

import type { Work } from '../container/work.ts'
import type { Ledger, WaitingLedgerState } from '../ledger/ledger.ts'
import type { Fold, FoldedCopy } from './fold-waiting.ts'
import type { KeyChains } from './key-chains.ts'
import { OperatorRequests } from './operator-requests.ts'
import { type Original, originalId } from './original.ts'
import { type Append, newEntry, type WaitingEntry } from './waiting-entry.ts'
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

/** See the file's comment. */
export class WaitingBook {
  readonly #deps: BookDeps
  readonly #entries = new Map<string, WaitingEntry>()
  readonly #requests = new OperatorRequests()
  /** Whose originals the source has to show yet. */
  readonly #doubtful = new Map<string, FoldedCopy>()
  #replaysFinished: bigint
  #isBegun = false
  #waitingNow = 0
  #bytes = 0

  constructor(deps: BookDeps) {
    this.#deps = deps
    this.#replaysFinished = deps.replaysFinished
  }

  /** Originals that wait or block their key. */
  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Originals that have left the source and have no outcome yet: `wn=`. */
  get waitingNow(): number {
    return this.#waitingNow
  }

  state(): WaitingLedgerState {
    const state = this.#deps.ledger.state()
    return { ...state, replaysFinished: this.#replaysFinished, waitingNow: BigInt(this.#waitingNow) }
  }

  /**
   * Begins with what a scan found. Replays come last: they are about what all other records say.
   *
   * @param sourceEnd - the source has no record from here on, so it does not bring one that waits a second time
   */
  begin({ copies, doubtful, settled, replaysFinished, replays, releases }: Fold, sourceEnd: bigint): void {
    const { ledger } = this.#deps
    for (const { at, as } of settled) ledger.settle(at, as)
    this.#replaysFinished += BigInt(replaysFinished)
    for (const copy of copies.values()) this.#add(this.#entryOf(copy, copy.kind))
    for (const [id, copy] of doubtful)
      if (copy.original.offset < sourceEnd) this.#doubtful.set(id, copy)
      else this.#add(this.#entryOf(copy, copy.kind))
    for (const release of releases) this.#requests.keepRelease(release)
    for (const entry of this.#entries.values()) this.#answerRequests(entry)
    for (const replay of replays) this.#replay(replay)
    this.#isBegun = true
    this.#sweepReleases()
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
        this.#replay(read)
        return true
      case 'RELEASE':
        this.#release(read)
        return true
      case 'HELD':
      case 'MARKER':
        return this.#landed(read)
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

  /** Whether there are copies of which the source has not shown yet if they are duplicates. */
  get hasDoubts(): boolean {
    return this.#doubtful.size > 0
  }

  /** The source brings this record: a copy of it is a duplicate. */
  sourceShows(original: Original): void {
    const id = originalId(original)
    const copy = this.#doubtful.get(id)
    if (copy !== undefined) this.#deps.ledger.settle(copy.at, 'SKIPPED')
    this.#doubtful.delete(id)
  }

  /** The source brings nothing below `next` any more: copies of what it did not show are no duplicates. */
  sourceReached(next: bigint): void {
    for (const copy of this.#doubtful.values()) if (copy.original.offset < next) this.#keep(copy)
  }

  /** The source is another log now. */
  sourceReplaced(): void {
    for (const copy of this.#doubtful.values()) this.#keep(copy)
  }

  /** What waits now left the source before `retried` of it was counted: all equations hold from here on. */
  countAnew(retried: bigint): void {
    const { ok, dead } = this.#deps.ledger.state().counts
    this.#replaysFinished = ok + dead + BigInt(this.#waitingNow) - retried
  }

  /** The entry's next copy is on its way; until it is read, nothing else happens to the entry. */
  appending(append: Append, bytes: number): void {
    append.entry.append = append
    this.#weigh(append.entry, bytes)
    this.#deps.chains.look(append.entry.lane)
  }

  /** The append is in the log: what it replaces is settled by that. */
  confirmed(append: Append): void {
    if (append.isConfirmed) return
    append.isConfirmed = true
    const { entry, source } = append
    if (append.isDeath) this.#dies(entry)
    else this.#settleCopy(entry, 'RETRIED')
    if (source === undefined) return
    const isCounted = this.#deps.settleSource(source, append.isDeath ? 'DEAD' : 'RETRIED')
    this.#count(entry, !append.isDeath)
    if (!isCounted && !append.isDeath) this.#replaysFinished++
  }

  /** The entry has its outcome, and its key is free for the next. */
  finish(entry: WaitingEntry, as: 'OK' | 'DEAD'): void {
    this.#remove(entry)
    this.#settleCopy(entry, as)
    if (entry.replayCount > 0) this.#replaysFinished++
    this.#outcome(entry.original, as === 'OK')
  }

  /** A record of the source has its outcome without ever having waited. */
  sourceFinished(original: Original, isOk: boolean): void {
    if (!this.#requests.isEmpty) this.#outcome(original, isOk)
  }

  /** Whether somebody waits for an outcome: who asks need not make an {@link Original} of each record otherwise. */
  get hasRequests(): boolean {
    return !this.#requests.isEmpty
  }

  /** The entry whose copy is the lowest that is not settled, if it can be moved to the end of the log. */
  lowestMovable(): WaitingEntry | undefined {
    const { watermark } = this.#deps.ledger
    for (const entry of this.#entries.values())
      if (entry.at === watermark) return entry.append === undefined && !entry.isRunning ? entry : undefined
    return undefined
  }

  /**
   * What holds the position back and cannot be moved is answered as well as it can be: a commit remembers only so much.
   * A record may be delivered twice by that, and none is lost.
   */
  answerLowest(): void {
    const { ledger } = this.#deps
    const { watermark } = ledger
    for (const copy of this.#doubtful.values()) if (copy.at === watermark) this.#keep(copy)
    const replay = this.#requests.takeReplayFrom(watermark)
    // While its original waits, that is delivered anyway.
    if (replay !== undefined && this.has(replay.original)) ledger.settle(replay.at, 'SKIPPED')
    else if (replay !== undefined) this.#admit(replay)
    for (const at of this.#requests.takeReleasesFrom(watermark)) ledger.settle(at, 'SKIPPED')
  }

  /** No duplicate: it waits as the others do. It was not counted when it left the source, or that count is gone. */
  #keep(copy: FoldedCopy): void {
    this.#doubtful.delete(originalId(copy.original))
    const entry = this.#add(this.#entryOf(copy, copy.kind))
    if (entry.isCounted) this.#replaysFinished++
    this.#answerRequests(entry)
  }

  #landed(copy: WaitingRecord): boolean {
    const entry = this.#entries.get(originalId(copy.original))
    const append = entry?.append
    if (entry === undefined || append?.kind !== copy.kind || entry.replayCount !== copy.replayCount) {
      this.#deps.ledger.settle(copy.at, 'SKIPPED')
      return false
    }
    this.confirmed(append)
    entry.append = undefined
    this.#place(entry, copy, append.kind)
    this.#answerRequests(entry)
    this.#deps.chains.look(entry.lane)
    return true
  }

  #replay(replay: WaitingRecord): void {
    const { ledger, isSourceSettled } = this.#deps
    const entry = this.#entries.get(originalId(replay.original))
    if (entry !== undefined && replay.replayCount <= entry.replayCount) return ledger.settle(replay.at, 'SKIPPED')
    const isDead = entry === undefined ? isSourceSettled(replay.original.offset) : isSettledMarker(entry)
    if (isDead) return this.#admit(replay)
    const duplicate = this.#requests.keepReplay(replay)
    if (duplicate !== undefined) ledger.settle(duplicate.at, 'SKIPPED')
  }

  #release(release: WaitingRecord): void {
    this.#requests.keepRelease(release)
    const entry = this.#entries.get(originalId(release.original))
    if (entry !== undefined) this.#answerRequests(entry)
    this.#sweepReleases()
  }

  /** The original is dead: it is delivered once more, in its old place in the chain. */
  #admit(replay: WaitingRecord): void {
    const marker = this.#entries.get(originalId(replay.original))
    if (marker !== undefined) this.#unmark(marker)
    this.#add(this.#entryOf(replay, 'HELD'))
  }

  /** What operators asked of a dead original that blocks its key. */
  #answerRequests(entry: WaitingEntry): void {
    if (!isSettledMarker(entry)) return
    const release = this.#requests.releaseOf(entry.id)
    if (release !== undefined && release.count >= entry.replayCount) this.#unmark(entry)
    const replay = this.#requests.takeReplay(entry.id)
    if (replay !== undefined) this.#admit(replay)
    this.#sweepReleases()
  }

  #outcome(original: Original, isOk: boolean): void {
    if (this.#requests.isEmpty) return
    const replay = this.#requests.takeReplay(originalId(original))
    if (replay !== undefined && isOk) this.#deps.ledger.settle(replay.at, 'SKIPPED')
    else if (replay !== undefined) this.#admit(replay)
    if (this.#deps.isSourceSettled(original.offset))
      for (const other of this.#requests.takeReplaysAt(original.offset)) this.#admit(other)
    this.#sweepReleases()
  }

  /** A release is answered once the original has an outcome and nothing of it waits, also no replay of the same scan. */
  #sweepReleases(): void {
    if (!this.#isBegun) return
    const { ledger, isSourceSettled } = this.#deps
    for (const [id, { original, at }] of this.#requests.releases) {
      if (this.#entries.has(id) || !isSourceSettled(original.offset)) continue
      for (const offset of at) ledger.settle(offset, 'SKIPPED')
      this.#requests.dropRelease(id)
    }
  }

  #entryOf(copy: WaitingRecord, state: 'HELD' | 'MARKER'): WaitingEntry {
    const entry = newEntry(copy.original, state, copy.replayCount)
    this.#place(entry, copy, state)
    this.#count(entry, state === 'HELD' && copy.replayCount === 0)
    return entry
  }

  #place(entry: WaitingEntry, copy: WaitingRecord, state: 'HELD' | 'MARKER'): void {
    const work = state === 'HELD' ? this.#deps.workOf(copy) : undefined
    entry.state = state
    entry.at = copy.at
    entry.work = work
    entry.dueAt = this.#deps.dueAtOf(copy)
    this.#weigh(entry, work?.bytes ?? 0)
  }

  #add(entry: WaitingEntry): WaitingEntry {
    this.#entries.set(entry.id, entry)
    this.#deps.chains.block(entry)
    return entry
  }

  #remove(entry: WaitingEntry): void {
    this.#entries.delete(entry.id)
    this.#deps.chains.unblock(entry)
    this.#weigh(entry, 0)
    this.#count(entry, false)
  }

  #dies(entry: WaitingEntry): void {
    if (entry.at === undefined) return
    this.#settleCopy(entry, 'DEAD')
    this.#count(entry, false)
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

  #count(entry: WaitingEntry, isCounted: boolean): void {
    if (entry.isCounted !== isCounted) this.#waitingNow += isCounted ? 1 : -1
    entry.isCounted = isCounted
  }

  #weigh(entry: WaitingEntry, bytes: number): void {
    this.#bytes += bytes - entry.bytes
    entry.bytes = bytes
  }
}

/** Dead, and the marker was read: whatever ends it finds it in the log. */
function isSettledMarker(entry: WaitingEntry): boolean {
  return entry.state === 'MARKER' && entry.append === undefined
}
