import type { TopicPartition } from './topic-partition.ts'

/** Returns `topic-partition`, the name of a partition in messages and the key in maps. */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
