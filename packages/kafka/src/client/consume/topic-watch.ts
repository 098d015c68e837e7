/**
 * Looks at the topics every few seconds. New partitions: the leader has the group share them out. A topic that was created
 * again has another id, which the fetcher sees in what is refreshed here. Nothing else waits for it: a cluster that does
 * not answer only makes it look again later.
 */

import type { Runtime } from '@waybill/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { GroupMember } from '../group/group-member.ts'

/** What is watched, and for whom. */
export interface TopicWatch {
  readonly cluster: Cluster
  readonly member: Pick<GroupMember, 'leader' | 'rejoin'>
  /** Topics of its own that the consumer reads, companions among them. */
  readonly topics: () => readonly string[]
  /** What is known of the topics is new. */
  readonly refreshed: () => void
  readonly everyMs: number
  readonly timeoutMs: number
}

/** Watches until the signal aborts. Never rejects. It also keeps the process alive while every connection is down. */
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
      await look(watch)
    } catch (error) {
      runtime.logger.debug({ err: error }, 'The cluster does not tell of its topics; asking again later')
    }
  }
}

async function look({ cluster, member, topics, refreshed, timeoutMs }: TopicWatch): Promise<void> {
  const names = new Set([...topics(), ...member.leader.topics])
  const found = await cluster.refresh([...names], timeoutMs)
  if (member.leader.hasChanged(found)) member.rejoin()
  refreshed()
}
