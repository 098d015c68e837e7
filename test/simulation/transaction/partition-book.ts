/**
 * Tracks what a group has settled in one partition, from its commits alone. A transactional commit settles records, and
 * each of them must have its planned outcome; a commit from outside is an operator's move.
 */

import { indexAt, type LogEntry, type LogJournal } from '../client/log-journal.ts'
import { type CommittedLedger, imbalanceOf, isSettledIn, readState } from '../connector/committed-state.ts'
import type { Court } from '../world/court.ts'
import type { RareState } from './rare-states.ts'
import { type Outcome, outcomeOf, outcomes, type RecordPlan } from './record-plan.ts'

/** How often transactions settled a record, and in how many of them it was already deleted and may be a hole. */
export interface Settled {
  times: number
  deleted: number
}

/** Dependencies of a book. */
export interface BookDeps {
  readonly journal: LogJournal
  readonly tier: number
  readonly planOf: (value: string) => RecordPlan
  readonly court: Pick<Court<RareState>, 'violate' | 'reach'>
}

/** See the file's comment. */
export class PartitionBook {
  readonly place: string
  /** By value. */
  readonly settled = new Map<string, Settled>()
  /** True when an operator has moved back: later records may have come first. */
  isMovedBack = false
  readonly #deps: BookDeps
  #last: CommittedLedger | undefined
  /** True when every reader of the partition knows the last move. */
  #isMoveKnown = false

  constructor(deps: BookDeps) {
    this.#deps = deps
    this.place = `${deps.journal.topic}-${deps.journal.partition}`
  }

  /** Next offset; undefined before the first commit. */
  get position(): bigint | undefined {
    return this.#last?.position
  }

  get journal(): LogJournal {
    return this.#deps.journal
  }

  accepted(offset: bigint, metadata: string, isMove: boolean): void {
    const { court, journal } = this.#deps
    const state = readState(offset, metadata)
    const wrong = state === undefined ? 'its metadata cannot be read' : imbalanceOf(state)
    if (wrong !== undefined) court.violate('I20', `${this.place}: ${wrong}`)
    if (offset > journal.end)
      court.violate('I2', `${this.place}: ${offset} is committed, and the log ends at ${journal.end}`)
    if (state === undefined) return
    const now = state.source
    const before = this.#last ?? ledgerAt(isMove ? journal.start : 0n)
    this.#last = now
    if (isMove) this.#move(before, now)
    else this.#settle(before, now)
  }

  /** Records that the partition had no reader during a move: the next one starts from there. */
  moveIsKnown(): void {
    this.#isMoveKnown = true
  }

  /** Returns true when an operator has skipped this record, and all readers know it. */
  isPassedOver(offset: bigint): boolean {
    // A reader whose position is gone starts anew, without the offsets settled ahead of it.
    if (!this.#isMoveKnown || this.#last === undefined || this.#last.position < this.#deps.journal.start) return false
    return this.#last.above.has(offset)
  }

  /** Describes what is not settled yet; undefined when everything is. */
  obstacle(): string | undefined {
    const { end, start } = this.#deps.journal
    const position = this.position ?? start
    return position < end ? `${this.place}: ${position} of ${end} is committed` : undefined
  }

  #settle(before: CommittedLedger, now: CommittedLedger): void {
    const { court } = this.#deps
    if (now.position < before.position)
      return court.violate('I2', `${this.place}: ${before.position} was committed, and now ${now.position}`)
    if (now.position > before.position + 1n) court.reach('transaction: it holds several records')
    // A position below the log has a gap: counting starts behind it.
    const isAnew = now.since !== before.since
    if (isAnew) this.#requireDeleted(before.position, now.since)
    this.#count(isAnew ? ledgerAt(now.since) : before, now)
  }

  #count(before: CommittedLedger, now: CommittedLedger): void {
    const { court, journal, planOf, tier } = this.#deps
    const due = noCounts()
    const deleted = noCounts()
    for (const entry of this.#newlySettled(before, now)) {
      const isDeleted = !journal.isKept(entry)
      const outcome = outcomeOf(planOf(entry.id), tier)
      if (isDeleted) deleted[outcome]++
      else due[outcome]++
      const settled = this.settled.get(entry.id) ?? { times: 0, deleted: 0 }
      this.settled.set(entry.id, {
        times: settled.times + 1,
        deleted: settled.deleted + (isDeleted ? 1 : 0),
      })
    }
    const lost = outcomes.reduce((sum, name) => sum + due[name] + deleted[name] - (now[name] - before[name]), 0)
    if (lost > 0) court.reach('retention: it deletes unread records')
    for (const name of outcomes) {
      const counted = now[name] - before[name]
      if (counted < due[name] || counted > due[name] + deleted[name])
        court.violate('I20', `${this.place}@${now.position}: ${due[name]} more are ${name}, and ${counted} are counted`)
    }
  }

  /** Applies a move: skipped records count as skipped, and a move back starts a new count. */
  #move(before: CommittedLedger, now: CommittedLedger): void {
    const { court } = this.#deps
    this.#isMoveKnown = false
    if (now.position < before.position) {
      this.isMovedBack = true
      court.reach('move: records are due again')
    }
    if (isEmpty(now)) return
    const passed = Number(now.position - before.position) + now.above.size - before.above.size
    if (passed > 0) court.reach('move: records are passed over')
    if (now.above.size > 0) court.reach('move: a record ahead is passed over')
    for (const name of outcomes) {
      const due = before[name] + (name === 'skipped' ? passed : 0)
      if (now[name] !== due)
        court.violate(
          'I20',
          `${this.place}: an operator passes over ${passed}, and ${now[name]} are ${name}, not ${due}`,
        )
    }
  }

  #newlySettled(before: CommittedLedger, now: CommittedLedger): LogEntry[] {
    const entries = this.#deps.journal.entries()
    return entries
      .slice(indexAt(entries, before.position))
      .filter(({ offset, state }) => state === 'COMMITTED' && isSettledIn(now, offset) && !isSettledIn(before, offset))
  }

  #requireDeleted(from: bigint, to: bigint): void {
    const { court, journal } = this.#deps
    for (const entry of journal.entries())
      if (entry.offset >= from && entry.offset < to && entry.state === 'COMMITTED' && journal.isKept(entry))
        court.violate('I1', `${this.place}: nothing is counted of ${entry.id} at ${entry.offset}, and it is there`)
    if (from < to) court.reach('retention: counting begins anew behind it')
  }
}

function noCounts(): Record<Outcome, number> {
  return { ok: 0, retried: 0, dead: 0, skipped: 0 }
}

function ledgerAt(position: bigint): CommittedLedger {
  return { since: position, position, ...noCounts(), holes: 0, above: new Set() }
}

function isEmpty({ since, position, above, ok, retried, dead, skipped, holes }: CommittedLedger): boolean {
  return position === since && above.size === 0 && ok + retried + dead + skipped + holes === 0
}
