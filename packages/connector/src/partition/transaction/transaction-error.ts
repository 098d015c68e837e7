import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'

/** A transaction could not be committed. It is written again until it is, or until the partition is revoked. */
export class TransactionError extends WaybillError {
  static override readonly code = 'WAYBILL_TRANSACTION_NOT_COMMITTED'

  constructor({ topic, partition }: TopicPartition, cause: Error) {
    super(`A transaction for ${topic}-${partition} could not be committed: ${cause.message}`, {
      cause,
      impact: 'Nothing of it is visible, and the records it is made of stay unsettled; it is written again.',
      hint: 'Look at the brokers and at the topics the handler sends to; nothing has to be done here once they take records.',
    })
  }
}
