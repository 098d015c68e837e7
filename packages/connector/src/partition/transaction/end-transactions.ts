import type { KafkaClient, TopicPartition, TransactionalProducer } from '@waybill/kafka'
import type { ResolvedTransaction } from '../../binding/resolved-binding.ts'
import { transactionProducerOptions } from '../../options/transaction-rules.ts'
import { transactionalIdOf } from './transactional-id.ts'

/**
 * Ends what an earlier owner of a partition has under way: its id takes the next epoch. When this resolves, a transaction of
 * it is committed or aborted, markers and offsets included, and it cannot commit another. Without it a reader would wait
 * until the transaction of an owner that died has timed out.
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
 * As {@link endTransactions}, and answers the producer that has the epoch: what it commits is committed only if nobody has
 * taken the id since.
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
