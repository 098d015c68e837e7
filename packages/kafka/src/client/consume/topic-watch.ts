/**
 * Refreshes topic metadata periodically. When partitions were added, the leader triggers a rebalance. When a topic was
 * re-created, the fetcher sees its new id. If the cluster does not answer, the refresh is retried at the next interval.
 */

import type { Runtime } from '@waybill/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { GroupMember } from '../group/group-member.ts'

/** Options of {@link watchTopics}. */
export interface TopicWatch {
  readonly cluster: Cluster
  readonly member: Pick<GroupMember, 'leader' | 'rejoin'>
  /** Returns the topics that the consumer reads, companions included. */
  readonly topics: () => readonly string[]
  /** Called after each refresh. */
  readonly refreshed: () => void
  readonly everyMs: number
  readonly timeoutMs: number
}

/**
 * Refreshes until the signal aborts. Never rejects. Its timer also keeps the process alive while every connection is
 * down.
 */
export async function watchTopics(
  runtime: Pick<Runtime, 'timers' | 'logger'>,
  watch: TopicWatch,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await runtime.timers.sleep(watch.everyMs, signal)
    } catch {
      return
    }
    try {
      await refresh(watch)
    } catch (error) {
      runtime.logger.debug({ err: error }, 'Topic metadata refresh failed, retrying')
    }
  }
}

async function refresh({ cluster, member, topics, refreshed, timeoutMs }: TopicWatch): Promise<void> {
  const names = new Set([...topics(), ...member.leader.topics])
  const found = await cluster.refresh([...names], timeoutMs)
  if (member.leader.hasChanged(found)) member.rejoin()
  refreshed()
}
