import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Assignment, GroupCandidate, PartitionCounts } from './sticky-assignment.ts'

/**
 * Assigns contiguous ranges of each topic to its subscribers, in the order of member ids. Partition p of two topics
 * with equal counts goes to the same member. Any partition may move on a rebalance, so members release all of them
 * first (eager).
 */
export function assignRange(candidates: readonly GroupCandidate[], counts: PartitionCounts): Assignment {
  const assigned = new Map<string, TopicPartition[]>(candidates.map(({ memberId }) => [memberId, []]))
  const topics = new Set(candidates.flatMap((candidate) => candidate.topics))
  for (const topic of [...topics].toSorted()) {
    const takers = candidates
      .filter((candidate) => candidate.topics.includes(topic))
      .map(({ memberId }) => memberId)
      .toSorted()
    const count = counts.get(topic) ?? 0
    for (const [index, memberId] of takers.entries()) {
      const first = Math.floor((index * count) / takers.length)
      const end = Math.floor(((index + 1) * count) / takers.length)
      for (let partition = first; partition < end; partition++) assigned.get(memberId)?.push({ topic, partition })
    }
  }
  return assigned
}
