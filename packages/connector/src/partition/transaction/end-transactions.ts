import type { KafkaClient, TopicPartition, TransactionalProducer } from '@waybill/kafka'
import type { ResolvedTransaction } from '../../binding/resolved-binding.ts'
import { transactionProducerOptions } from '../../options/transaction-rules.ts'
import { transactionalIdOf } from './transactional-id.ts'

/**
 * Completes the transaction of a partition's previous owner by taking the next epoch of its id. When this resolves, that
 * transaction is committed or aborted, with markers and offsets, and the previous owner cannot commit another. Without it a
 * consumer would wait until the transaction of a dead owner times out.
 */
export async function endTransactions(
  client: Pick<KafkaClient, 'transactionalProducer'>,
  groupId: string,
  at: TopicPartition,
  bounds: ResolvedTransaction,
): Promise<void> {
  const producer = await takeTransactions(client, groupId, at, bounds)
  await producer.close()
}

/**
 * Completes transactions like {@link endTransactions}, and returns the producer with the epoch. It commits only if no other
 * producer has taken the id since.
 */
export async function takeTransactions(
  client: Pick<KafkaClient, 'transactionalProducer'>,
  groupId: string,
  at: TopicPartition,
  bounds: ResolvedTransaction,
): Promise<TransactionalProducer> {
  const producer = client.transactionalProducer(transactionalIdOf(groupId, at), transactionProducerOptions(bounds))
  try {
    await producer.begin()
    return producer
  } catch (error) {
    await producer.close()
    throw error
  }
}
