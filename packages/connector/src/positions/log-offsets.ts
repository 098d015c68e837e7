import { type Admin, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { type OffsetAt } from '@waybill/kafka/internal'

/** The partitions of a topic; with `mayBeAbsent` none when there is no such topic. */
export async function partitionsOf(
  admin: Admin,
  topic: string,
  mayBeAbsent = false,
): Promise<readonly TopicPartition[]> {
  const outcomes = await admin.describeTopics([topic])
  const isAbsent = outcomes.some((one) => one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION')
  if (mayBeAbsent && isAbsent) return []
  const [view] = requireAllDone(`Describing ${topic}`, outcomes)
  return view?.partitions.map(({ partition }) => ({ topic, partition })) ?? []
}

/** By partition; those that have no such offset are left out. */
export async function offsetsAt(
  admin: Admin,
  partitions: readonly TopicPartition[],
  at: OffsetAt,
): Promise<ReadonlyMap<number, bigint>> {
  if (partitions.length === 0) return new Map()
  const found = requireAllDone('Reading where logs begin and end', await admin.listOffsets(partitions, at))
  return new Map(found.flatMap(({ partition, offset }) => (offset === null ? [] : [[partition, offset] as const])))
}
