/** Reads and writes the headers that list the exhausted tiers of a record. */

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

/** More tiers than a binding can have. It limits the growth of a record, whatever its headers claim. */
const mostTiers = 32
const tierDigits = /\d+/
const nothing = Buffer.alloc(0)
const none: readonly TierFailureRecord[] = Object.freeze([])

type Entry = { -readonly [K in keyof TierFailureRecord]: TierFailureRecord[K] }

/** The tier and field that a header belongs to. */
interface Place {
  readonly tier: number
  readonly field: 'exceptionClass' | 'exhaustedAt' | 'attempts'
}

/** A cache of header names, which repeat in every record. Bounded, since producers can forge names. */
const knownPlaces = new Map<string, Place>()
const mostKnownPlaces = 1_000

/** Collects the tier history from headers. */
export class TierClaims {
  /** Sorted by tier, which is mostly their order in the record. */
  #entries: Entry[] | undefined

  /** Adds a header if it belongs to the history. The last of several with the same name counts. */
  take(name: string, bytes: Buffer, at: number, end: number): void {
    const place = placeOf(name)
    if (place === undefined) return
    const entry = this.#entryOf(place.tier)
    if (entry === undefined) return
    if (place.field === 'exceptionClass') entry.exceptionClass = end < at ? '' : bytes.toString('utf8', at, end)
    else if (place.field === 'exhaustedAt') entry.exhaustedAt = readTimestampMs(bytes, at, end) ?? 0
    else entry.attempts = readInteger(bytes, at, end) ?? 0
  }

  /** Returns the exhausted tiers in order, one entry each. */
  entries(): readonly TierFailureRecord[] {
    return this.#entries ?? none
  }

  /** Returns the entry of a tier; undefined if the maximum number of lower tiers is reached. */
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

/** Returns the index of a tier, or its insertion index. */
function placeAmong(history: readonly TierFailureRecord[], tier: number): number {
  let index = history.length
  while (index > 0 && (history[index - 1] as TierFailureRecord).tier >= tier) index--
  return index
}

/** Reads the tier history from headers. */
export function readTierHistory(headers: Iterable<HeaderPair>): readonly TierFailureRecord[] {
  const claims = new TierClaims()
  for (const [name, value] of headers) claims.take(name, value ?? nothing, 0, value?.length ?? -1)
  return claims.entries()
}

/** Returns the history with a tier added. It replaces the entry of that tier from an earlier replay. */
export function withTier(
  history: readonly TierFailureRecord[],
  exhausted: Omit<TierFailureRecord, 'attempts'>,
  totalAttempts: number,
): readonly TierFailureRecord[] {
  const { tier, exceptionClass, exhaustedAt } = exhausted
  const others = history.filter((one) => one.tier !== tier)
  const before = others.reduce((sum, { attempts }) => sum + attempts, 0)
  const entry = { tier, exceptionClass, exhaustedAt, attempts: Math.max(0, totalAttempts - before) }
  others.splice(placeAmong(others, tier), 0, entry)
  return others.length <= mostTiers ? others : others.slice(-mostTiers)
}

/** Writes the tier history as headers. */
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

/** Precomputed header names. Names of higher tiers, from forged headers, are created on each use. */
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
