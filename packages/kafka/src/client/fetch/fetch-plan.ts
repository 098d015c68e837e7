/**
 * Which partitions the next fetches ask for, as a pure decision.
 *
 * A lane is a connection with at most one fetch under way: one for each node, for each isolation (a request has only one)
 * and for each end of the wait. Partitions that may have records are asked for without any wait; those that are known to
 * be at their end share a request that waits for the first record of any of them. If they shared one request, a busy
 * partition would stand still behind an idle one whenever its own records were still being handed out.
 */

import type { Leader } from '../cluster/cluster.ts'
import type { Isolation, PartitionFeed } from './partition-feed.ts'

/** How much may be fetched ahead. */
export interface PrefetchBounds {
  readonly maxRecords: number
  readonly maxBytes: number
}

/** A connection's purpose. */
export interface FetchLane {
  readonly leader: Leader
  readonly isolation: Isolation
  /** True for the one that waits for records. */
  readonly isTail: boolean
}

/** What one lane is to ask for. */
export interface LanePlan extends FetchLane {
  readonly name: string
  readonly feeds: readonly PartitionFeed[]
  readonly maxBytes: number
}

/** What is to be done next. */
export interface FetchPlan {
  readonly fetches: readonly LanePlan[]
  /** Topics with a partition whose leader is not known. */
  readonly leaderless: ReadonlySet<string>
  /** Feeds that hold what others need and may not hand it out now: their buffers are to go. */
  readonly hoarding: readonly PartitionFeed[]
}

/** What a plan is made of. */
export interface FetchState {
  readonly feeds: Iterable<PartitionFeed>
  readonly leaderOf: (feed: PartitionFeed) => Leader | undefined
  /** Lanes with a fetch under way, by name, with the bytes it may bring. */
  readonly busy: ReadonlyMap<string, number>
  readonly bounds: PrefetchBounds
  readonly nowMs: number
}

/** Most bytes of one answer: it lies in memory as a whole. */
const answerMaxBytes = 16 * 1024 * 1024

/**
 * A partition is asked for while it is active, not waiting after an error, and has less than its share of the prefetch
 * buffered: one busy partition must not fill the buffer that the others need.
 */
export function planFetches({ feeds, leaderOf, busy, bounds, nowMs }: FetchState): FetchPlan {
  const { active, idle, bufferedBytes } = sortFeeds(feeds)
  const leaderless = new Set<string>()
  const lanes = new Map<string, FetchLane & { feeds: PartitionFeed[] }>()
  const sources = new Set<string>()
  for (const feed of active) {
    const leader = leaderOf(feed)
    if (leader === undefined) {
      // Who waits after an error waits with this too: a cluster that is down refuses at once, and would be asked at once.
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
  // Two lanes to each source. Whatever the others are promised, this much is there for each of them.
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
