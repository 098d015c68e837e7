/** The partitions of a dead letter topic: their current start and end offsets, and the position of replays. */

import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { AdminCallOptions, OffsetRange } from '@waybill/kafka/internal'

type Admin = Pick<KafkaClient['admin'], 'describeTopics' | 'listOffsets' | 'groupOffsets'>

/** One partition of a dead letter topic at the time of the request. */
export interface PartitionLog extends TopicPartition {
  /** The first offset that still exists. */
  readonly start: bigint
  /** The offset after the last one. */
  readonly end: bigint
  /** The offset at which the next replay starts. */
  readonly position: bigint
}

/**
 * Reads the offsets of every partition, and the group's position. Rejects unless the cluster answers for all of them.
 */
export async function readDeadLetterLog(
  admin: Admin,
  topic: string,
  groupId: string,
): Promise<readonly PartitionLog[]> {
  const partitions = await partitionsOf(admin, topic)
  if (partitions.length === 0) return []
  const [starts, ends, committed] = await Promise.all([
    admin.listOffsets(partitions, 'EARLIEST'),
    admin.listOffsets(partitions, 'LATEST'),
    admin.groupOffsets(groupId, partitions),
  ])
  const startOf = byPartition(requireAllDone(`Finding the start of ${topic}`, starts), ({ offset }) => offset ?? 0n)
  const endOf = byPartition(requireAllDone(`Finding the end of ${topic}`, ends), ({ offset }) => offset ?? 0n)
  const positionOf = byPartition(
    requireAllDone(`Reading the offsets of ${groupId}`, committed),
    (one) => one.committed ?? 0n,
  )
  return partitions.map(({ partition }) => {
    const [start, end] = [startOf(partition), endOf(partition)]
    // A position outside of the log belongs to a deleted and re-created topic, or to purged records.
    const position = positionOf(partition)
    return { topic, partition, start, end, position: position < start || position > end ? start : position }
  })
}

/** Returns, for each partition, the range from the first record at or after that time to the end. */
export async function rangesFrom(
  admin: Admin,
  logs: readonly PartitionLog[],
  fromMs: number,
): Promise<readonly OffsetRange[]> {
  if (logs.length === 0) return []
  const found = requireAllDone('Finding records by their time', await admin.listOffsets(logs, { timestampMs: fromMs }))
  const offsetOf = byPartition(found, ({ offset }) => offset)
  return logs.map(({ topic, partition, end }) => {
    const from = offsetOf(partition) ?? end
    return { topic, partition, from: from < end ? from : end, until: end }
  })
}

/** Returns the partitions of a topic; none when the topic does not exist. */
export async function partitionsOf(
  admin: Admin,
  topic: string,
  options?: AdminCallOptions,
): Promise<readonly TopicPartition[]> {
  const [view] = await admin.describeTopics([topic], options)
  if (view?.outcome === 'FAILED' && view.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION') return []
  const [found] = requireAllDone(`Describing ${topic}`, view === undefined ? [] : [view])
  return (found?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
}

function byPartition<T extends TopicPartition, V>(
  list: readonly T[],
  valueOf: (one: T) => V,
): (partition: number) => V {
  const values = new Map(list.map((one) => [one.partition, valueOf(one)]))
  return (partition) => values.get(partition) as V
}
