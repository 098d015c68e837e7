import type { MetadataResponse } from '../../wire/api/kafka-apis.ts'
import { KafkaError } from './kafka-error.ts'

/**
 * @throws KafkaError for an answer that cannot be true: partitions are numbered from 0 without a gap, and whoever
 * believes in number 2,147,483,647 makes room for all before it. Another node may know better.
 */
export function assertSound({ topics }: MetadataResponse): void {
  for (const { name, partitions } of topics) {
    const indexes = new Set(partitions.map(({ partitionIndex }) => partitionIndex))
    const isNumbered = indexes.size === partitions.length && partitions.every((_, index) => indexes.has(index))
    if (isNumbered) continue
    throw new KafkaError(`Metadata: the node numbers the partitions of ${name} as nobody can.`, 'RETRIABLE')
  }
}
