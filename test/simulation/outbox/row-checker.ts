/** Checks every change of a row: who may change it, between which states, and on what evidence (I4, I5, I6). */

import type { RowChange, SimOutboxRow } from '@waybill/sim/internal'
import type { Decided } from './decided.ts'
import type { Ground } from './ground.ts'

/** See the file's comment. */
export class RowChecker {
  readonly #world: Ground
  /** Attempts by event, as the table last had them. */
  readonly #attempts = new Map<string, number>()
  /** The highest row id passed to a listener. */
  #highestCalled = 0n
  #commits = 0

  constructor(world: Ground) {
    this.#world = world
  }

  called(seq: bigint): void {
    if (seq > this.#highestCalled) this.#highestCalled = seq
  }

  changed(row: Readonly<SimOutboxRow>, change: RowChange, client: string): void {
    const { court } = this.#world
    court.note(client, () => `${change.kind} ${row.seq} ${row.event.eventId}: ${row.status}, ${row.attempts} attempts`)
    if (change.kind === 'COMMITTED') this.#committed(row, client)
    else if (change.kind === 'ROLLED_BACK') this.#world.book.of(row.event.eventId).end = 'ROLLED_BACK'
    else if (change.kind === 'CLAIMED') this.#claimed(row, change, client)
    else if (change.kind === 'FINISHED') {
      this.#finished(row, change, client)
      this.#attempts.set(row.event.eventId, row.attempts)
    } else if (change.kind === 'REPLAYED') this.#replayed(row)
    else this.#purged(row)
  }

  #committed(row: Readonly<SimOutboxRow>, client: string): void {
    const { court, book, nodes } = this.#world
    const record = book.of(row.event.eventId)
    record.end = 'COMMITTED'
    record.seq = row.seq
    record.committedAs = ++this.#commits
    if (row.seq < this.#highestCalled) court.reach('commit: a row appears below one that was delivered before')
    const node = nodes.get(client)
    if (node?.gate.isAlive === false) court.reach('commit: of a process that was killed meanwhile')
    if (node?.state === 'STOPPED') court.reach('stop: a transaction commits after it')
    // Its content cannot be read; the next reader of the row detects that.
    if (record.plan.isBroken) (row as SimOutboxRow).isBroken = true
  }

  #claimed(row: Readonly<SimOutboxRow>, { former }: RowChange & { kind: 'CLAIMED' }, client: string): void {
    const { court, ownership, journal } = this.#world
    if (former === null || ownership.processOf(former.owner) === client) return
    court.reach('claim: a lease has run out')
    if (journal.runningOf(row.event.eventId).length > 0) court.reach('lease: a listener runs when it ends')
  }

  #finished(row: Readonly<SimOutboxRow>, change: RowChange & { kind: 'FINISHED' }, client: string): void {
    const { court, book, journal, now } = this.#world
    const record = book.of(row.event.eventId)
    this.#checkRight(row, change, client)
    this.#checkEvidence(row, client)
    if (row.status !== 'RETRY') this.#world.repeats.finished(row)
    if (row.status === 'DONE') {
      record.wasDone = true
      record.doneAt = now()
    }
    if (row.status === 'DEAD') {
      record.wasDead = true
      record.diedOf = journal.decidedBy(client, row.event.eventId)
      if (record.plan.isBroken) court.reach('dead: a row that cannot be read')
      else if (record.plan.isLost) court.reach('dead: it has no listener')
      else court.reach('dead: attempts are used up')
    }
  }

  /** I6: only the holder of a row finishes it. */
  #checkRight(row: Readonly<SimOutboxRow>, { lockedBy }: RowChange & { kind: 'FINISHED' }, client: string): void {
    const { court, program, ownership } = this.#world
    const isSole = program.mode === 'singleNode' || program.mode === 'ordered'
    const holder = isSole
      ? ownership.lastOfTable()
      : program.mode === 'multiNode'
        ? ownership.processOf(lockedBy)
        : ownership.holderOf(row)?.process
    if (holder !== client)
      court.violate('I6', `${client} makes ${row.event.eventId} ${row.status}, which ${holder ?? 'no process'} holds`)
  }

  /** I4, I5: a DONE row was delivered; a RETRY or DEAD row failed at the same node, in its last call. */
  #checkEvidence(row: Readonly<SimOutboxRow>, client: string): void {
    const { court, book, journal, maxAttempts } = this.#world
    const { eventId } = row.event
    const { plan, diedOf } = book.of(eventId)
    const { isLost, isBroken } = plan
    const decided = journal.decidedBy(client, eventId)
    const outcome = decided?.outcome
    if (row.status === 'RETRY' && !this.#spendsAttempt(row, decided)) return
    if (outcome === 'AWAY' && !isBroken && !isLost) {
      court.violate('I23', `${client} makes ${eventId} ${row.status}, whose destination was unavailable`)
      return
    }
    // The response was lost, and an operator replayed the row before the statement was retried: it is DEAD again, and
    // reported.
    if (row.status === 'DEAD' && decided !== undefined && decided === diedOf) return
    if (row.status === 'DONE' && outcome !== 'ARRIVED')
      court.violate('I4', `${client} makes ${eventId} DONE, and its last call of the listener is ${outcome}`)
    if (row.status === 'DONE' || isLost || isBroken) return
    if (outcome === undefined || outcome === 'ARRIVED')
      court.violate('I5', `${client} makes ${eventId} ${row.status}, and its last call of the listener is ${outcome}`)
    const mayLive = outcome === 'ASKED' || (outcome === 'FAILED' && row.attempts < maxAttempts)
    if (row.status === 'RETRY' && !mayLive)
      court.violate('I5', `${eventId} is retried after ${row.attempts} of ${maxAttempts} attempts (${outcome})`)
    if (row.status === 'DEAD' && mayLive)
      court.violate('I5', `${eventId} is DEAD after ${row.attempts} of ${maxAttempts} attempts (${outcome})`)
  }

  /** I23: a row is deferred without an attempt only where a query would return it over and over. */
  #spendsAttempt(row: Readonly<SimOutboxRow>, decided: Decided | undefined): boolean {
    const { court, book, program } = this.#world
    const { eventId } = row.event
    if (row.attempts > (this.#attempts.get(eventId) ?? 0)) return true
    // An event without a listener is decided without a call.
    const isRepeated = book.of(eventId).plan.isLost
      ? row.attempts > 0
      : decided !== undefined && decided.outcome !== 'AWAY' && decided.attempt === row.attempts
    if (program.mode !== 'singleNode' && program.mode !== 'multiNode' && !isRepeated)
      court.violate('I23', `${eventId} is deferred after ${row.attempts} attempts, and none was spent`)
    return false
  }

  #replayed(row: Readonly<SimOutboxRow>): void {
    const { court, book } = this.#world
    const record = book.of(row.event.eventId)
    record.isReplayed = true
    this.#attempts.set(row.event.eventId, row.attempts)
    record.arrivalsSinceReplay = 0
    court.reach('dead: an operator replays it')
  }

  #purged(row: Readonly<SimOutboxRow>): void {
    const { court } = this.#world
    court.reach('purge: a row goes')
    if (row.status === 'NEW' || row.status === 'RETRY')
      court.violate('I4', `${row.event.eventId} is purged while it is ${row.status}`)
  }
}
