/**
 * Checks that a repeat repeats everything behind it (I22), in the modes that keep an order: by key, in `ordered` of the
 * whole table.
 *
 * At every finish: no earlier row is pending, so the finished rows are a prefix. At every call: an event that arrived
 * before and is delivered again obliges the later ones that arrived to be delivered again too; at the end of a seed
 * nothing is owed.
 */

import type { SimOutboxRow } from '@waybill/sim/internal'
import { type EventRecord, keyOfPlan } from './event-book.ts'
import type { Ground } from './ground.ts'

/** See the file's comment. */
export class RepeatChecker {
  readonly #world: Ground
  /** By key: the newest event that must be delivered again, and the repeat that obliges to it. */
  readonly #owed = new Map<string, { readonly newest: EventRecord; readonly repeated: EventRecord }>()

  constructor(world: Ground) {
    this.#world = world
  }

  /** Records that a row became DONE or DEAD. */
  finished(row: Readonly<SimOutboxRow>): void {
    const { court, book, server, program, hasClockJumpedBack } = this.#world
    const record = book.of(row.event.eventId)
    const key = this.#orderOf(record)
    // After the clock was set back rows may lie in the future, and `ordered` reads only due rows.
    if (key === null || (program.mode === 'ordered' && hasClockJumpedBack)) return
    for (const { seq, status, isCommitted, event } of server.table.rows) {
      if (seq >= row.seq) return
      const earlier = book.of(event.eventId)
      if (!isCommitted || (status !== 'NEW' && status !== 'RETRY') || this.#orderOf(earlier) !== key) continue
      if (mustPrecede(earlier, record))
        court.violate(
          'I22',
          `${record.plan.id} (${row.seq}) is ${row.status}, and ${event.eventId} (${seq}) before it is ${status}`,
        )
    }
  }

  /** Records that a process delivers an event, under a lease that holds. */
  called(eventId: string): void {
    const record = this.#world.book.of(eventId)
    const key = this.#orderOf(record)
    if (key === null) return
    const owed = this.#owed.get(key)
    if (owed !== undefined && isBehind(record, owed.newest)) this.#owed.delete(key)
    if (record.arrivals === 0 || record.isReplayed) return
    const later = this.#world.book.all.filter(
      (other) => other.arrivals > 0 && this.#orderOf(other) === key && other !== record && mustPrecede(record, other),
    )
    const newest = later.reduce<EventRecord | undefined>(
      (last, other) => (last === undefined || isBehind(other, last) ? other : last),
      undefined,
    )
    if (newest === undefined) return
    this.#world.court.reach('repeat: later events of its key arrived before')
    const before = this.#owed.get(key)
    if (before === undefined || isBehind(newest, before.newest)) this.#owed.set(key, { newest, repeated: record })
  }

  /** Checks that every repeat was followed by everything behind it. */
  judgeEnd(): void {
    const { court, server } = this.#world
    for (const { newest, repeated } of this.#owed.values()) {
      const row = server.table.find(newest.plan.id)
      // It waits behind a dead event that blocks its key.
      if (row?.status === 'NEW' || row?.status === 'RETRY' || newest.isReplayed) continue
      court.violate('I22', `${repeated.plan.id} was delivered again, and ${newest.plan.id} behind it was not`)
    }
  }

  /** Returns the order that the event is part of; null if it has none. */
  #orderOf({ plan }: EventRecord): string | null {
    const { mode } = this.#world.program
    if (mode === 'singleNode' || mode === 'multiNode') return null
    return mode === 'ordered' ? '' : keyOfPlan(plan)
  }
}

/**
 * Returns true when the earlier event had to be finished first: it was visible to every read that saw the later one. A
 * transaction that commits late, and an operator who replays a dead event, put it behind others.
 */
function mustPrecede(earlier: EventRecord, later: EventRecord): boolean {
  return !earlier.isReplayed && earlier.committedAs <= later.committedAs && isBehind(later, earlier)
}

function isBehind(one: EventRecord, other: EventRecord): boolean {
  return (one.seq ?? 0n) >= (other.seq ?? 0n)
}
