import { type Admin, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { type OffsetAt } from '@waybill/kafka/internal'

/** Returns the partitions of a topic; with `mayBeAbsent`, none when the topic does not exist. */
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

/** Returns offsets by partition number, without the partitions that have no such offset. */
export async function offsetsAt(
  admin: Admin,
  partitions: readonly TopicPartition[],
  at: OffsetAt,
): Promise<ReadonlyMap<number, bigint>> {
  if (partitions.length === 0) return new Map()
  const found = requireAllDone('Listing log offsets', await admin.listOffsets(partitions, at))
  return new Map(found.flatMap(({ partition, offset }) => (offset === null ? [] : [[partition, offset] as const])))
}
