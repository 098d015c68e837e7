/**
 * Keys of one shard whose rows are not to be read now, with the number to read again from once that ends. Their rows stay
 * in the table: what is held back costs one entry here, however many rows wait behind it.
 */

import type { EventKey } from '../api/outbox-store.ts'
import { lower } from './read-floor.ts'
import { keyText } from './shard-of.ts'

/**
 * WAITING: the first row is not due. DEAD: the first row is dead and blocks the others (onDeadKey). FULL: enough of its
 * rows are in memory already.
 */
export type HoldReason = 'WAITING' | 'DEAD' | 'FULL'

export interface HeldKey {
  readonly key: EventKey
  readonly reason: HoldReason
  /** The first row that was left in the table. It falls when a late commit shows an earlier one. */
  from: bigint
  /** Up to where the shard was complete when the hold began ({@link ReadFloor}): reads have left the key out since. */
  complete: bigint | null
  /** When the first row is due, by the monotonic clock. Infinity: something else than time ends it. */
  readonly dueAt: number
  /** Its finish has not been confirmed: read now, the row would look as it was before. */
  isUnconfirmed: boolean
  /** DEAD only: looks at the dead rows that began before the hold was sure say nothing about it. */
  sureSince: number
}

/** Where to read again from, and what is complete no more, once keys are free. */
export interface Released {
  readonly from: bigint
  readonly complete: bigint | null
}

export class HeldKeys {
  readonly #held = new Map<string, HeldKey>()
  #nextDueAt = Number.POSITIVE_INFINITY

  get size(): number {
    return this.#held.size
  }

  /** When the next one is due, or earlier; Infinity when time ends none of them. */
  get nextDueAt(): number {
    return this.#nextDueAt
  }

  /** What a read leaves out. */
  get keys(): readonly EventKey[] {
    return Array.from(this.#held.values(), ({ key }) => key)
  }

  get(text: string): HeldKey | undefined {
    return this.#held.get(text)
  }

  /** Holds a key, for the new reason if it was held for another, and from the lower of both numbers. */
  hold(held: HeldKey): void {
    const text = keyText(held.key)
    const before = this.#held.get(text)
    if (before !== undefined) {
      if (before.from < held.from) held.from = before.from
      held.complete = lower(before.complete, held.complete)
    }
    this.#held.set(text, held)
    this.#nextDueAt = Math.min(this.#nextDueAt, held.dueAt)
  }

  /** @returns undefined when the key was not held */
  release(text: string): Released | undefined {
    const held = this.#held.get(text)
    this.#held.delete(text)
    return held
  }

  /** The shard was complete up to nowhere when any of the holds began. */
  doubt(): void {
    for (const held of this.#held.values()) held.complete = null
  }

  /** Releases what is due and confirmed. @returns undefined when nothing was */
  releaseDue(now: number): Released | undefined {
    if (this.#nextDueAt > now) return undefined
    this.#nextDueAt = Number.POSITIVE_INFINITY
    return this.#releaseWhere((held) => {
      if (held.dueAt <= now && !held.isUnconfirmed) return true
      // An unconfirmed one is looked at again when it is confirmed, not by the clock.
      if (!held.isUnconfirmed) this.#nextDueAt = Math.min(this.#nextDueAt, held.dueAt)
      return false
    })
  }

  /** Its finish is confirmed: from now on time, or the next look at dead rows, may end the hold. */
  confirm(text: string, seq: bigint, look: number): void {
    const held = this.#held.get(text)
    if (held === undefined || !held.isUnconfirmed || held.from > seq) return
    held.isUnconfirmed = false
    held.sureSince = look
    this.#nextDueAt = Math.min(this.#nextDueAt, held.dueAt)
  }

  /** Keys whose dead rows are gone, replayed or purged. @returns undefined when none are */
  releaseDead(dead: ReadonlySet<string>, look: number): Released | undefined {
    return this.#releaseWhere(
      ({ key, reason, isUnconfirmed, sureSince }) =>
        reason === 'DEAD' && !isUnconfirmed && sureSince < look && !dead.has(keyText(key)),
    )
  }

  #releaseWhere(mayGo: (held: HeldKey) => boolean): Released | undefined {
    let lowest: Released | undefined
    for (const [text, held] of this.#held) {
      if (!mayGo(held)) continue
      this.#held.delete(text)
      lowest = {
        from: lowest === undefined || held.from < lowest.from ? held.from : lowest.from,
        complete: lowest === undefined ? held.complete : lower(lowest.complete, held.complete),
      }
    }
    return lowest
  }
}
