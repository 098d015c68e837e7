import type { TopicPartition } from '@waybill/kafka'

/**
 * Returns the transactional id of a partition's owner, who takes it from the previous owner. A group may have any name, so it
 * comes last: no two places produce the same text.
 */
export function transactionalIdOf(groupId: string, { topic, partition }: TopicPartition): string {
  return `${topic}:${partition}:${groupId}`
}
