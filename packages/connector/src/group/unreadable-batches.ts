/** The batches that stop their partitions because they cannot be read: corrupt, or too large. */

import type { TopicPartition } from '@waybill/kafka'
import { OversizedBatchError, partitionName } from '@waybill/kafka/internal'
import { CorruptBatchError } from '@waybill/kafka/wire'
import type { UnreadableBatch } from '../api/binding-view.ts'

/** Remembers a batch until its partition has passed it. */
export class UnreadableBatches {
  readonly #batches = new Map<string, UnreadableBatch>()

  /** Records a failure if a batch caused it. @param position - the position of the partition, before that batch */
  failed({ topic, partition }: TopicPartition, position: bigint | undefined, error: Error): void {
    if (!(error instanceof OversizedBatchError || error instanceof CorruptBatchError) || position === undefined) return
    const batch = { topic, partition, offset: position, why: error.happened, hint: hintFor(error) }
    this.#batches.set(partitionName(batch), batch)
  }

  /** Returns the batches that their partitions have not passed. */
  check(position: (partition: TopicPartition) => bigint | undefined): readonly UnreadableBatch[] {
    for (const [name, batch] of this.#batches) if (position(batch) !== batch.offset) this.#batches.delete(name)
    return [...this.#batches.values()]
  }
}

function hintFor(error: OversizedBatchError | CorruptBatchError): string {
  if (error instanceof CorruptBatchError)
    return 'It is fetched again within 30 s. If the error persists, the log is damaged: restore it, or skip the batch.'
  const next = error.batch.lastOffset + 1n
  return `No record is lost. Raise maxBatchBytes, set oversizedBatch: 'DEAD_LETTER', or skip to offset ${next}.`
}
