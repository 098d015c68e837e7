import type { TopicPartition } from '@waybill/kafka'

/**
 * Whoever owns a partition of a group has this id, and takes it from whoever had it before. A group may be called anything,
 * so it stands last: no two places make the same text.
 */
export function transactionalIdOf(groupId: string, { topic, partition }: TopicPartition): string {
  return `${topic}:${partition}:${groupId}`
}
