import type { KafkaRecord } from '@waybill/kafka'
import { readBatches } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'

/** Every record of a topic's first partitions, as a client would hand them out. */
export function topicRecords(sim: SimCluster, topic: string, partitions = 1): KafkaRecord[] {
  return Array.from({ length: partitions }, (_, partition) => partition).flatMap((partition) =>
    [...readBatches(sim.partition(topic, partition).records)].flatMap((batch) =>
      batch.records({ topic, partition, epoch: 0 }, 0n),
    ),
  )
}

/** Their values as text. */
export function topicValues(sim: SimCluster, topic: string, partitions = 1): string[] {
  return topicRecords(sim, topic, partitions).map(({ value }) => value?.toString() ?? '')
}

/** What a group has committed for the partitions of a topic: `partition: offset`. */
export function committedOffsets(sim: SimCluster, groupId: string, topic: string): Record<number, bigint> {
  const offsets = sim.group(groupId).offsets.filter((one) => one.topic === topic)
  return Object.fromEntries(offsets.map(({ partition, offset }) => [partition, offset]))
}
