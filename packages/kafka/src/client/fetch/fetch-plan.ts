/**
 * Decides which partitions the next fetches request, as a pure function.
 *
 * A lane is a connection with at most one pending fetch: one per node, per isolation level (a request has only one),
 * and per kind of wait. Partitions that may have records are fetched without a wait. Partitions known to be at their
 * end share a long poll that waits for the first record of any of them. In one shared request, a busy partition would
 * be blocked behind an idle one.
 */

import type { Leader } from '../cluster/cluster.ts'
import type { Isolation, PartitionFeed } from './partition-feed.ts'

/** Limits of the prefetch buffer. */
export interface PrefetchBounds {
  readonly maxRecords: number
  readonly maxBytes: number
}

/** The purpose of a connection. */
export interface FetchLane {
  readonly leader: Leader
  readonly isolation: Isolation
  /** True for the long poll. */
  readonly isTail: boolean
}

/** The next request of one lane. */
export interface LanePlan extends FetchLane {
  readonly name: string
  readonly feeds: readonly PartitionFeed[]
  readonly maxBytes: number
}

/** The fetches to start, and what blocks others. */
export interface FetchPlan {
  readonly fetches: readonly LanePlan[]
  /** Topics with a partition whose leader is unknown. */
  readonly leaderless: ReadonlySet<string>
  /** Inactive feeds whose buffers must be dropped because active ones need the space. */
  readonly hoarding: readonly PartitionFeed[]
}

/** The state that a plan is made from. */
export interface FetchState {
  readonly feeds: Iterable<PartitionFeed>
  readonly leaderOf: (feed: PartitionFeed) => Leader | undefined
  /** Lanes with a pending fetch, by name, with the bytes that it may return. */
  readonly busy: ReadonlyMap<string, number>
  readonly bounds: PrefetchBounds
  readonly nowMs: number
}

/** Most bytes of one response, which is held in memory as a whole. */
const answerMaxBytes = 16 * 1024 * 1024

/**
 * Plans the next fetches. A partition is fetched while it is active, not backing off, and has buffered less than its
 * share: one busy partition must not fill the buffer that the others need.
 */
export function planFetches({ feeds, leaderOf, busy, bounds, nowMs }: FetchState): FetchPlan {
  const { active, idle, bufferedBytes } = sortFeeds(feeds)
  const leaderless = new Set<string>()
  const lanes = new Map<string, FetchLane & { feeds: PartitionFeed[] }>()
  const sources = new Set<string>()
  for (const feed of active) {
    const leader = leaderOf(feed)
    if (leader === undefined) {
      // Back off here too: a cluster that is down refuses at once, and would be asked again at once.
      if (feed.retryAt <= nowMs) leaderless.add(feed.topic)
      continue
    }
    sources.add(`${leader.nodeId} ${feed.isolation}`)
    const hasShare =
      feed.bufferedRecords * active.length >= bounds.maxRecords || feed.bufferedBytes * active.length >= bounds.maxBytes
    if (hasShare || feed.isAsked || feed.retryAt > nowMs) continue
    const name = `${leader.nodeId} ${feed.isolation} ${feed.isAtEnd}`
    if (busy.has(name)) continue
    const lane = lanes.get(name)
    if (lane !== undefined) lane.feeds.push(feed)
    else lanes.set(name, { leader, isolation: feed.isolation, isTail: feed.isAtEnd, feeds: [feed] })
  }
  // Two lanes per source. This much is left for each of them, whatever the others may return.
  const laneBytes = Math.max(1, Math.min(answerMaxBytes, Math.floor(bounds.maxBytes / (2 * sources.size))))
  let freeBytes = bounds.maxBytes - bufferedBytes
  for (const promisedBytes of busy.values()) freeBytes -= promisedBytes
  const fetches: LanePlan[] = []
  for (const [name, lane] of lanes) {
    if (freeBytes <= 0) break
    const maxBytes = Math.min(laneBytes, freeBytes)
    freeBytes -= maxBytes
    fetches.push({ name, ...lane, maxBytes })
  }
  return { fetches, leaderless, hoarding: freeBytes <= 0 ? idle.filter((feed) => feed.bufferedBytes > 0) : [] }
}

function sortFeeds(feeds: Iterable<PartitionFeed>): {
  active: PartitionFeed[]
  idle: PartitionFeed[]
  bufferedBytes: number
} {
  const active: PartitionFeed[] = []
  const idle: PartitionFeed[] = []
  let bufferedBytes = 0
  for (const feed of feeds) {
    bufferedBytes += feed.bufferedBytes
    if (feed.isActive) active.push(feed)
    else idle.push(feed)
  }
  return { active, idle, bufferedBytes }
}
