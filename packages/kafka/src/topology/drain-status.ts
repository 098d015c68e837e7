/**
 * Checks whether a group has read a topic to its end and no producer writes to it: the precondition for switching
 * producers to another topic.
 */

import { ArgumentError, type Runtime, systemRuntime } from '@waybill/core'
import type { Admin, AdminCallOptions } from '../client/admin/admin.ts'
import { requireAllDone } from '../client/admin/admin-result.ts'
import type { TopicPartition } from '../client/cluster/topic-partition.ts'

/**
 * The drain state of a partition:
 * - DRAINED: the group has committed the end, and the end does not move.
 * - BEHIND: there are records that the group has not committed.
 * - WRITTEN: records arrived between the two checks, or the topic was re-created.
 */
export type DrainState = 'DRAINED' | 'BEHIND' | 'WRITTEN'

/** One partition, as of the second check. */
export interface PartitionDrain extends TopicPartition {
  readonly state: DrainState
  /** Committed offset; null when the group never committed. */
  readonly committed: bigint | null
  readonly end: bigint
}

/** The drain status of a group. */
export interface DrainStatus {
  /** True when every partition is DRAINED. */
  readonly isDrained: boolean
  readonly partitions: readonly PartitionDrain[]
}

/** Options of {@link drainStatus}. */
export interface DrainOptions extends AdminCallOptions {
  /** Time between the two checks: longer than any producer waits before it sends. @defaultValue 5,000 */
  readonly lookAgainAfterMs?: number
  /** @defaultValue the system runtime */
  readonly runtime?: Pick<Runtime, 'timers'>
}

interface Snapshot extends TopicPartition {
  readonly topicId: string
  readonly committed: bigint | null
  readonly start: bigint
  readonly end: bigint
}

/**
 * Reports whether a topic is drained: written no more, and read to its end by every group. Checks twice and compares.
 *
 * @throws ArgumentError without a topic; PartialFailureError when a topic or a partition cannot be read.
 */
export async function drainStatus(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
  { lookAgainAfterMs = 5_000, runtime = systemRuntime, ...options }: DrainOptions = {},
): Promise<DrainStatus> {
  if (topics.length === 0) throw new ArgumentError('drainStatus needs at least one topic.')
  const first = await takeSnapshot(admin, groupId, topics, options)
  await runtime.timers.sleep(lookAgainAfterMs)
  const endsBefore = new Map(first.map((seen) => [identityOf(seen), seen.end]))
  const partitions = (await takeSnapshot(admin, groupId, topics, options)).map((seen) => ({
    topic: seen.topic,
    partition: seen.partition,
    state: stateOf(seen, endsBefore.get(identityOf(seen))),
    committed: seen.committed,
    end: seen.end,
  }))
  return { isDrained: partitions.every(({ state }) => state === 'DRAINED'), partitions }
}

async function takeSnapshot(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
  options: AdminCallOptions,
): Promise<Snapshot[]> {
  const views = requireAllDone('Describing the topics', await admin.describeTopics(topics, options))
  const all = views.flatMap(({ topic, topicId, partitions }) =>
    partitions.map(({ partition }) => ({ topic, partition, topicId })),
  )
  const starts = requireAllDone('Describing the topics', await admin.listOffsets(all, 'EARLIEST', options))
  const offsets = requireAllDone('Reading the group offsets', await admin.groupOffsets(groupId, all, options))
  // Both return results in the order requested.
  return all.map((one, index) => ({
    ...one,
    start: starts[index]?.offset ?? 0n,
    committed: offsets[index]?.committed ?? null,
    end: offsets[index]?.end ?? 0n,
  }))
}

function identityOf({ topicId, partition }: Snapshot): string {
  return `${topicId}-${partition}`
}

function stateOf({ committed, start, end }: Snapshot, endBefore: bigint | undefined): DrainState {
  if (endBefore !== end) return 'WRITTEN'
  // A group does not commit in a partition that never had a record.
  return (committed ?? start) === end ? 'DRAINED' : 'BEHIND'
}
