import type { TopicPartition } from './topic-partition.ts'

/** `topic-partition`: how a partition is called in messages and keyed in maps. */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
