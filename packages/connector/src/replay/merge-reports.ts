/** Adds up the reports of several dead letter topics. Pure. */

import type { DeadLetterPlace, DeadLetterStats, PurgeReport, ReplayReport } from '../api/dead-letter-admin.ts'
import { jsonSafe } from '../api/json-safe.ts'
import { addGroupCounts } from './group-counts.ts'

export const noReport: ReplayReport = Object.freeze(
  jsonSafe({ replayed: 0, skipped: Object.freeze({}), remaining: 0n }),
)

/** The report of a purge that deletes nothing. */
export const noPurge: PurgeReport = Object.freeze(jsonSafe({ purged: 0n, notReplayed: 0n, byGroup: [], ranges: [] }))

export function addReports(left: ReplayReport, right: ReplayReport): ReplayReport {
  return jsonSafe({
    replayed: left.replayed + right.replayed,
    skipped: addCounts(left.skipped, right.skipped),
    remaining: left.remaining + right.remaining,
  })
}

export function addPurges(left: PurgeReport, right: PurgeReport): PurgeReport {
  return jsonSafe({
    purged: left.purged + right.purged,
    notReplayed: left.notReplayed + right.notReplayed,
    byGroup: addGroupCounts(left.byGroup, right.byGroup),
    ranges: [...left.ranges, ...right.ranges],
  })
}

export function addStats(left: DeadLetterStats, right: DeadLetterStats): DeadLetterStats {
  return jsonSafe({
    topics: [...left.topics, ...right.topics],
    count: left.count + right.count,
    others: left.others + right.others,
    oldest: pick(left.oldest, right.oldest, (one, other) => one <= other),
    newest: pick(left.newest, right.newest, (one, other) => one >= other),
    byException: addCounts(left.byException, right.byException),
    notReplayed: left.notReplayed + right.notReplayed,
  })
}

function addCounts(
  left: Readonly<Record<string, number>>,
  right: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum = new Map(Object.entries(left))
  for (const [name, count] of Object.entries(right)) sum.set(name, (sum.get(name) ?? 0) + count)
  return Object.fromEntries(sum)
}

function pick(
  left: DeadLetterPlace | undefined,
  right: DeadLetterPlace | undefined,
  isLeft: (one: number, other: number) => boolean,
): DeadLetterPlace | undefined {
  if (left === undefined || right === undefined) return left ?? right
  return isLeft(left.deadAtMs, right.deadAtMs) ? left : right
}
