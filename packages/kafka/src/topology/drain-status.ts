/**
 * Whether a group has read a topic to its end and nobody writes to it any more: what has to be true before producers
 * are switched to another topic.
 */

import { ArgumentError, type Runtime, systemRuntime } from '@waybill/core'
import type { Admin, AdminCallOptions } from '../client/admin/admin.ts'
import { requireAllDone } from '../client/admin/admin-result.ts'
import type { TopicPartition } from '../client/cluster/topic-partition.ts'

/**
 * - DRAINED: the group has committed the end, and the end does not move.
 * - BEHIND: there are records that the group has not committed.
 * - WRITTEN: records came in between the two looks, or the topic became another one.
 */
export type DrainState = 'DRAINED' | 'BEHIND' | 'WRITTEN'

/** One partition, as the second look found it. */
export interface PartitionDrain extends TopicPartition {
  readonly state: DrainState
  /** null when the group never committed here. */
  readonly committed: bigint | null
  readonly end: bigint
}

/** A group's way through topics. */
export interface DrainStatus {
  /** Every partition is DRAINED. */
  readonly isDrained: boolean
  readonly partitions: readonly PartitionDrain[]
}

/** Options of {@link drainStatus}. */
export interface DrainOptions extends AdminCallOptions {
  /** Time between the two looks: longer than any producer waits before it sends. @defaultValue 5,000 */
  readonly lookAgainAfterMs?: number
  /** @defaultValue the system's */
  readonly runtime?: Pick<Runtime, 'timers'>
}

interface Look extends TopicPartition {
  readonly topicId: string
  readonly committed: bigint | null
  readonly start: bigint
  readonly end: bigint
}

/**
 * Looks twice.
 *
 * @throws ArgumentError without a topic; PartialFailureError when a topic or a partition cannot be looked at.
 */
export async function drainStatus(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
  { lookAgainAfterMs = 5_000, runtime = systemRuntime, ...options }: DrainOptions = {},
): Promise<DrainStatus> {
  if (topics.length === 0) throw new ArgumentError('Name the topics to look at: of none, nothing could be said.')
  const first = await look(admin, groupId, topics, options)
  await runtime.timers.sleep(lookAgainAfterMs)
  const endsBefore = new Map(first.map((seen) => [identityOf(seen), seen.end]))
  const partitions = (await look(admin, groupId, topics, options)).map((seen) => ({
    topic: seen.topic,
    partition: seen.partition,
    state: stateOf(seen, endsBefore.get(identityOf(seen))),
    committed: seen.committed,
    end: seen.end,
  }))
  return { isDrained: partitions.every(({ state }) => state === 'DRAINED'), partitions }
}

async function look(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
  options: AdminCallOptions,
): Promise<Look[]> {
  const views = requireAllDone('Looking at the topics', await admin.describeTopics(topics, options))
  const all = views.flatMap(({ topic, topicId, partitions }) =>
    partitions.map(({ partition }) => ({ topic, partition, topicId })),
  )
  const starts = requireAllDone('Looking at the topics', await admin.listOffsets(all, 'EARLIEST', options))
  const offsets = requireAllDone('Looking at the group', await admin.groupOffsets(groupId, all, options))
  // Both answer in the order of what was asked.
  return all.map((one, index) => ({
    ...one,
    start: starts[index]?.offset ?? 0n,
    committed: offsets[index]?.committed ?? null,
    end: offsets[index]?.end ?? 0n,
  }))
}

function identityOf({ topicId, partition }: Look): string {
  return `${topicId}-${partition}`
}

function stateOf({ committed, start, end }: Look, endBefore: bigint | undefined): DrainState {
  if (endBefore !== end) return 'WRITTEN'
  // A group never commits where there never was a record.
  return (committed ?? start) === end ? 'DRAINED' : 'BEHIND'
}
