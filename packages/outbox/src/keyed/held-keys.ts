/**
 * Keys of one shard whose rows must not be read now, with the number to resume from. Their rows stay in the table: a
 * held key costs one entry here, however many rows wait behind it.
 */

import type { EventKey } from '../api/outbox-store.ts'
import { lower } from './read-floor.ts'
import { keyText } from './shard-of.ts'

/**
 * The reason of a hold. WAITING: the first row is not due. DEAD: the first row is dead and blocks the others
 * (onDeadKey). FULL: enough of its rows are in memory.
 */
export type HoldReason = 'WAITING' | 'DEAD' | 'FULL'

export interface HeldKey {
  readonly key: EventKey
  readonly reason: HoldReason
  /** The first row left in the table. A late commit may lower it. */
  from: bigint
  /**
   * The point up to which the shard was complete when the hold began ({@link ReadFloor}). Reads have skipped the key
   * since.
   */
  complete: bigint | null
  /** When the first row is due, by the monotonic clock. Infinity: time does not end the hold. */
  readonly dueAt: number
  /** Whether the settlement is unconfirmed, so that a read would return the row's former state. */
  isUnconfirmed: boolean
  /** DEAD only: the scan of dead rows after which the hold was confirmed. Earlier scans say nothing about it. */
  sureSince: number
}

/** The point to resume reading from, and the point above which nothing is complete, once keys are released. */
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

  /** A lower bound of the next due time; Infinity if time ends none of the holds. */
  get nextDueAt(): number {
    return this.#nextDueAt
  }

  /** The keys that a read excludes. */
  get keys(): readonly EventKey[] {
    return Array.from(this.#held.values(), ({ key }) => key)
  }

  get(text: string): HeldKey | undefined {
    return this.#held.get(text)
  }

  /** Holds a key, with the new reason if it was already held, and from the lower of both numbers. */
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

  /** @returns undefined if the key was not held */
  release(text: string): Released | undefined {
    const held = this.#held.get(text)
    this.#held.delete(text)
    return held
  }

  /** Records that nothing is known to have been complete when the holds began. */
  doubt(): void {
    for (const held of this.#held.values()) held.complete = null
  }

  /** Releases keys that are due and confirmed. @returns undefined if there were none */
  releaseDue(now: number): Released | undefined {
    if (this.#nextDueAt > now) return undefined
    this.#nextDueAt = Number.POSITIVE_INFINITY
    return this.#releaseWhere((held) => {
      if (held.dueAt <= now && !held.isUnconfirmed) return true
      // An unconfirmed hold is checked again on confirmation, not by the clock.
      if (!held.isUnconfirmed) this.#nextDueAt = Math.min(this.#nextDueAt, held.dueAt)
      return false
    })
  }

  /** Records that the settlement is confirmed: time, or the next scan of dead rows, may now end the hold. */
  confirm(text: string, seq: bigint, scan: number): void {
    const held = this.#held.get(text)
    if (held === undefined || !held.isUnconfirmed || held.from > seq) return
    held.isUnconfirmed = false
    held.sureSince = scan
    this.#nextDueAt = Math.min(this.#nextDueAt, held.dueAt)
  }

  /** Releases keys whose dead rows were replayed or purged. @returns undefined if there are none */
  releaseDead(dead: ReadonlySet<string>, scan: number): Released | undefined {
    return this.#releaseWhere(
      ({ key, reason, isUnconfirmed, sureSince }) =>
        reason === 'DEAD' && !isUnconfirmed && sureSince < scan && !dead.has(keyText(key)),
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
