import type { TopicPartition } from './topic-partition.ts'

/** Returns whether a value from untyped code is a partition of a topic. */
export function isTopicPartition(value: unknown): value is TopicPartition {
  const { topic, partition } = (value ?? {}) as Partial<TopicPartition>
  return typeof topic === 'string' && Number.isSafeInteger(partition) && Number(partition) >= 0
}
