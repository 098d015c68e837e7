import { StateError } from '@waybill/core'
import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'

/** Behind the last record of a partition; 0 when it has had none. */
export interface TopicEnd extends TopicPartition {
  readonly offset: bigint
}

/** Where each partition of a topic ends now. Rejects when there is no such topic. */
export async function topicEnds({ admin }: KafkaClient, topic: string): Promise<readonly TopicEnd[]> {
  const described = await admin.describeTopics([topic])
  if (described.some((one) => one.outcome === 'FAILED' && one.error.reason === 'UNKNOWN_TOPIC_OR_PARTITION'))
    throw new StateError(`There is no topic '${topic}'.`, {
      hint: 'Check its name. A connector makes the topics of its tiers and dead letters when it starts.',
    })
  const [view] = requireAllDone('Looking at a topic', described)
  const partitions = (view?.partitions ?? []).map((_, partition) => ({ topic, partition }))
  const ends = requireAllDone('Looking for the end of a topic', await admin.listOffsets(partitions, 'LATEST'))
  return ends.map(({ partition, offset }) => ({ topic, partition, offset: offset ?? 0n }))
}
