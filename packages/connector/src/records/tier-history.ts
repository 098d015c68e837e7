/** The tiers that a record has used up, as its headers tell (S0-134, S0-143). */

import { Buffer } from 'node:buffer'
import {
  type HeaderPair,
  isTierTrailHeader,
  readInteger,
  readTimestampMs,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
} from '@waybill/core/internal'
import { type HeaderWriter, headerName, type WrittenName } from '@waybill/kafka/internal'
import type { TierFailureRecord } from '../api/dead-letter-types.ts'

/** More tiers than anybody has. It bounds what a record can grow to, whatever its headers claim. */
const mostTiers = 32
const tierDigits = /\d+/
const nothing = Buffer.alloc(0)
const none: readonly TierFailureRecord[] = Object.freeze([])

type Entry = { -readonly [K in keyof TierFailureRecord]: TierFailureRecord[K] }

/** Where a header of this family belongs: a tier, and a field of its entry. */
interface Place {
  readonly tier: number
  readonly field: 'exceptionClass' | 'exhaustedAt' | 'attempts'
}

/** Names are few and repeat in every record. Bounded, since anybody may make them up. */
const knownPlaces = new Map<string, Place>()
const mostKnownPlaces = 1_000

/** Collects the history from headers, one after the other. */
export class TierClaims {
  /** In the order of their tiers, as they mostly come. */
  #entries: Entry[] | undefined

  /** Takes a header if it belongs to the history; of several of a name the last counts. */
  take(name: string, bytes: Buffer, at: number, end: number): void {
    const place = placeOf(name)
    if (place === undefined) return
    const entry = this.#entryOf(place.tier)
    if (entry === undefined) return
    if (place.field === 'exceptionClass') entry.exceptionClass = end < at ? '' : bytes.toString('utf8', at, end)
    else if (place.field === 'exhaustedAt') entry.exhaustedAt = readTimestampMs(bytes, at, end) ?? 0
    else entry.attempts = readInteger(bytes, at, end) ?? 0
  }

  /** The exhausted tiers, in their order, one entry each. */
  entries(): readonly TierFailureRecord[] {
    return this.#entries ?? none
  }

  /** Undefined for a tier that has too many before it: it stays out whatever comes. */
  #entryOf(tier: number): Entry | undefined {
    const entries = (this.#entries ??= [])
    const index = placeAmong(entries, tier)
    const known = entries[index]
    if (known?.tier === tier) return known
    if (index === mostTiers) return undefined
    const entry: Entry = { tier, exceptionClass: '', exhaustedAt: 0, attempts: 0 }
    entries.splice(index, 0, entry)
    if (entries.length > mostTiers) entries.pop()
    return entry
  }
}

/** Where a tier is, or belongs. */
function placeAmong(history: readonly TierFailureRecord[], tier: number): number {
  let index = history.length
  while (index > 0 && (history[index - 1] as TierFailureRecord).tier >= tier) index--
  return index
}

/** The history in a list of headers. */
export function readTierHistory(headers: Iterable<HeaderPair>): readonly TierFailureRecord[] {
  const claims = new TierClaims()
  for (const [name, value] of headers) claims.take(name, value ?? nothing, 0, value?.length ?? -1)
  return claims.entries()
}

/** The history with one more tier; a tier that was exhausted before, in an earlier replay, is told anew. */
export function withTier(
  history: readonly TierFailureRecord[],
  exhausted: Omit<TierFailureRecord, 'attempts'>,
  totalAttempts: number,
): readonly TierFailureRecord[] {
  const { tier, exceptionClass, exhaustedAt } = exhausted
  const told = history.filter((one) => one.tier !== tier)
  const before = told.reduce((sum, { attempts }) => sum + attempts, 0)
  const entry = { tier, exceptionClass, exhaustedAt, attempts: Math.max(0, totalAttempts - before) }
  told.splice(placeAmong(told, tier), 0, entry)
  return told.length <= mostTiers ? told : told.slice(-mostTiers)
}

/** Writes the history as headers. */
export function writeTierHistory(out: HeaderWriter, history: readonly TierFailureRecord[]): void {
  for (const { tier, exceptionClass, exhaustedAt, attempts } of history) {
    const names = namesOf(tier)
    out.text(names.exception, exceptionClass)
    out.number(names.exhaustedAt, exhaustedAt)
    out.number(names.attempts, attempts)
  }
}

interface TierNames {
  readonly exception: WrittenName
  readonly exhaustedAt: WrittenName
  readonly attempts: WrittenName
}

/** Of the tiers that there can be. What a forged header calls a tier is made anew each time. */
const knownNames: readonly TierNames[] = Array.from({ length: mostTiers }, (_, tier) => makeNames(tier))

function namesOf(tier: number): TierNames {
  return knownNames[tier] ?? makeNames(tier)
}

function makeNames(tier: number): TierNames {
  return {
    exception: headerName(tierExceptionHeader(tier)),
    exhaustedAt: headerName(tierExhaustedAtHeader(tier)),
    attempts: headerName(tierAttemptsHeader(tier)),
  }
}

function placeOf(name: string): Place | undefined {
  const known = knownPlaces.get(name)
  if (known !== undefined) return known
  const place = makePlace(name)
  if (place !== undefined && knownPlaces.size < mostKnownPlaces) knownPlaces.set(name, place)
  return place
}

function makePlace(name: string): Place | undefined {
  const tier = isTierTrailHeader(name) ? Number(tierDigits.exec(name)?.[0]) : Number.NaN
  if (!Number.isSafeInteger(tier)) return undefined
  if (name.endsWith('-exception')) return { tier, field: 'exceptionClass' }
  return { tier, field: name.endsWith('-attempts') ? 'attempts' : 'exhaustedAt' }
}
