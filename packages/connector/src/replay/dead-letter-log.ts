/** The partitions of a dead letter topic: where they begin and end now, and how far replays have come. */

import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { type OffsetRange } from '@waybill/kafka/internal'

type Admin = Pick<KafkaClient['admin'], 'describeTopics' | 'listOffsets' | 'groupOffsets'>

/** One partition as it was when it was asked for. */
export interface LogStretch extends TopicPartition {
  /** First offset that is still there. */
  readonly start: bigint
  /** Behind the last. */
  readonly end: bigint
  /** Where replays go on. */
  readonly position: bigint
}

/** What is there of a topic, and how far the group has come in it. Rejects when the cluster does not answer for all. */
export async function lookAtLog(admin: Admin, topic: string, groupId: string): Promise<readonly LogStretch[]> {
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
    // A position outside of the log is of a topic that was deleted and created again, or of records that were purged.
    const position = positionOf(partition)
    return { topic, partition, start, end, position: position < start || position > end ? start : position }
  })
}

/** Where records of that time and later begin; the end where there are none. */
export async function rangesFrom(
  admin: Admin,
  stretches: readonly LogStretch[],
  fromMs: number,
): Promise<readonly OffsetRange[]> {
  if (stretches.length === 0) return []
  const found = requireAllDone(
    'Finding records by their time',
    await admin.listOffsets(stretches, { timestampMs: fromMs }),
  )
  const offsetOf = byPartition(found, ({ offset }) => offset)
  return stretches.map(({ topic, partition, end }) => {
    const from = offsetOf(partition) ?? end
    return { topic, partition, from: from < end ? from : end, until: end }
  })
}

/** Partitions of a topic; none of one that does not exist. */
export async function partitionsOf(admin: Admin, topic: string): Promise<readonly TopicPartition[]> {
  const [view] = await admin.describeTopics([topic])
  if (view?.outcome === 'FAILED' && view.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION') return []
  const [found] = requireAllDone(`Looking at ${topic}`, view === undefined ? [] : [view])
  return (found?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
}

function byPartition<T extends TopicPartition, V>(
  list: readonly T[],
  valueOf: (one: T) => V,
): (partition: number) => V {
  const values = new Map(list.map((one) => [one.partition, valueOf(one)]))
  return (partition) => values.get(partition) as V
}
