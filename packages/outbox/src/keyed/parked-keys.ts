/**
 * Rows of one shard that wait for unavailable destinations. They stay in the table, and reads skip them: a key is
 * parked from its first waiting row on, so that no later row overtakes it (I7), whatever its own destination.
 *
 * There may be hundreds of thousands of such keys, so each costs a number and a small entry, and none becomes a term of
 * a statement. Keys are compared by a hash: two keys with the same hash wait for each other, which delays but never
 * reorders.
 */

import type { EarlierPart, EventKey, ShardPart } from '../api/outbox-store.ts'
import type { Released } from './held-keys.ts'
import { lower } from './read-floor.ts'
import { keyText } from './shard-of.ts'

/** A waiting row that can probe its destination: the first one of its key. */
export interface ProbeRow {
  readonly seq: bigint
  readonly eventId: string
  readonly key: EventKey | null
  /** The point up to which the shard was complete when it was parked. */
  readonly complete: bigint | null
}

/** The queries for a probe row. */
export interface ProbeQuery {
  readonly row: ShardPart
  /** Undefined: there can be no earlier row of its key. */
  readonly earlier: EarlierPart | undefined
}

interface Group {
  readonly destination: string
  /** The lowest row that was skipped. */
  from: bigint
  /** The point up to which the shard was complete when the first row was skipped. */
  complete: bigint | null
  /** A few rows that can probe, in the order of their turns. */
  readonly probes: ProbeRow[]
  isReleased: boolean
}

interface Parked {
  readonly group: Group
  /** The first row of the key that waits. */
  readonly from: bigint
}

/** The number of probe rows remembered per destination: one that only looks unavailable must not be alone. */
const maxProbes = 4

export class ParkedKeys {
  readonly #groups = new Map<string, Group>()
  readonly #keys = new Map<number, Parked>()

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /** The number of entries. Entries of released groups are removed when they are met. */
  get size(): number {
    return this.#keys.size
  }

  /** Returns the destination that this row of a key waits for, because it or an earlier one was parked. */
  destinationOf(key: EventKey, seq: bigint): string | undefined {
    if (this.#keys.size === 0) return undefined
    const hash = hashOf(keyText(key))
    const parked = this.#keys.get(hash)
    if (parked === undefined || seq < parked.from) return undefined
    if (!parked.group.isReleased) return parked.group.destination
    this.#keys.delete(hash)
    return undefined
  }

  /** Parks a row, and all later ones of its key. */
  park(destination: string, row: ProbeRow): void {
    const group = this.#groupOf(destination, row)
    if (row.seq < group.from) group.from = row.seq
    group.complete = lower(group.complete, row.complete)
    if (row.key !== null) this.#keys.set(hashOf(keyText(row.key)), { group, from: row.seq })
    const known = group.probes.findIndex(({ key, seq }) => seq === row.seq || isSameKey(key, row.key))
    if (known !== -1) group.probes[known] = row
    else if (group.probes.length < maxProbes) group.probes.push(row)
  }

  /** Returns the rows that can probe a destination; undefined if nothing waits for it here. */
  probesOf(destination: string): readonly ProbeRow[] | undefined {
    return this.#groups.get(destination)?.probes.filter((row) => this.isFirst(row))
  }

  /** Whether no earlier row of its key waits. One may have been parked after it, for another destination. */
  isFirst({ key, seq }: ProbeRow): boolean {
    return key === null || this.#keys.get(hashOf(keyText(key)))?.from === seq
  }

  /** Gives the other rows their turn to probe. @param isGone the row is not in the table any more */
  turn(destination: string, row: ProbeRow, isGone: boolean): void {
    const probes = this.#groups.get(destination)?.probes ?? []
    const at = probes.indexOf(row)
    if (at === -1) return
    probes.splice(at, 1)
    if (!isGone) probes.push(row)
  }

  /** Forgets all rows that wait for a destination. @returns where to read them from; undefined if there are none */
  release(destination: string): Released | undefined {
    const group = this.#groups.get(destination)
    if (group === undefined) return undefined
    group.isReleased = true
    this.#groups.delete(destination)
    if (this.#groups.size === 0) this.#keys.clear()
    return group
  }

  /** Removes the entries of released groups. */
  prune(): void {
    for (const [hash, { group }] of this.#keys) if (group.isReleased) this.#keys.delete(hash)
  }

  /** Records that nothing is known to have been complete when rows were parked. */
  doubt(): void {
    for (const group of this.#groups.values()) {
      group.complete = null
      for (const [at, row] of group.probes.entries()) group.probes[at] = { ...row, complete: null }
    }
  }

  #groupOf(destination: string, { seq, complete }: ProbeRow): Group {
    let group = this.#groups.get(destination)
    if (group === undefined) {
      group = { destination, from: seq, complete, probes: [], isReleased: false }
      this.#groups.set(destination, group)
    }
    return group
  }
}

export function refOf({ seq, eventId, key }: Omit<ProbeRow, 'complete'>): Omit<ProbeRow, 'complete'> {
  return { seq, eventId, key }
}

/** @param except the rows in memory */
export function probeQuery(shard: number, { seq, key, complete }: ProbeRow, except: readonly bigint[]): ProbeQuery {
  const upTo = seq - 1n
  const isFirst = key === null || (complete !== null && complete >= upTo)
  return {
    row: { shard, floor: upTo, without: [] },
    earlier: isFirst ? undefined : { shard, above: complete, upTo, keys: [key], except },
  }
}

function isSameKey(one: EventKey | null, other: EventKey | null): boolean {
  return one !== null && other !== null && keyText(one) === keyText(other)
}

/** Returns 53 bits of hash: the mixing of MurmurHash on two halves. */
function hashOf(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 0x85ebca6b)
    low = Math.imul(low ^ code, 0xc2b2ae35)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return 0x1_0000_0000 * (high & 0x1f_ffff) + (low >>> 0)
}
