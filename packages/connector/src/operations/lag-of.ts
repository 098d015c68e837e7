import type { TopicPartition } from '@waybill/kafka'
import type { ContainerStatus, PartitionLag } from '../api/binding-view.ts'

/** Returns the lag of each partition that the containers own, by topic and partition. */
export function lagOf(
  containers: readonly ContainerStatus[],
  endOf: (at: TopicPartition) => bigint | undefined,
): readonly PartitionLag[] {
  return containers.flatMap(({ place, members }) =>
    members
      .flatMap(({ partitions }) => partitions)
      .toSorted((one, other) => one.partition - other.partition)
      .map(({ topic, partition, watermark: position }) => {
        const end = endOf({ topic, partition })
        return { topic, partition, tier: place.tier, position, end, records: recordsBetween(position, end) }
      }),
  )
}

/** The end is read every few seconds: the position may have passed it since. */
function recordsBetween(position: bigint, end: bigint | undefined): bigint | undefined {
  if (end === undefined) return undefined
  return end > position ? end - position : 0n
}
