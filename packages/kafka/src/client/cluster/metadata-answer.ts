import type { MetadataResponse } from '../../wire/api/kafka-apis.ts'
import { KafkaError } from './kafka-error.ts'

/**
 * @throws KafkaError when a response does not number partitions from 0 without gaps. A partition number of
 * 2,147,483,647 would otherwise allocate an array of that length. RETRIABLE, because another node may answer correctly.
 */
export function assertSound({ topics }: MetadataResponse): void {
  for (const { name, partitions } of topics) {
    const indexes = new Set(partitions.map(({ partitionIndex }) => partitionIndex))
    const isNumbered = indexes.size === partitions.length && partitions.every((_, index) => indexes.has(index))
    if (isNumbered) continue
    throw new KafkaError(
      `Metadata: the node returned partition numbers of ${name} that are not 0, 1, 2, ….`,
      'RETRIABLE',
    )
  }
}
