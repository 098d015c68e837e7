import { StateError } from '@waybill/core'
import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'

/** The end offset of a partition; 0 when it never had a record. */
export interface TopicEnd extends TopicPartition {
  readonly offset: bigint
}

/** Returns the current end offsets of a topic. Rejects when the topic does not exist. */
export async function topicEnds({ admin }: KafkaClient, topic: string): Promise<readonly TopicEnd[]> {
  const described = await admin.describeTopics([topic])
  if (described.some((one) => one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'))
    throw new StateError(`Topic '${topic}' does not exist.`, {
      hint: 'Check its name. A connector creates its tier and dead letter topics when it starts.',
    })
  const [view] = requireAllDone('Describing a topic', described)
  const partitions = (view?.partitions ?? []).map((_, partition) => ({ topic, partition }))
  const ends = requireAllDone('Reading the end of a topic', await admin.listOffsets(partitions, 'LATEST'))
  return ends.map(({ partition, offset }) => ({ topic, partition, offset: offset ?? 0n }))
}
