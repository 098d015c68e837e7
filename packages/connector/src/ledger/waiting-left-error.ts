import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'

/** Records wait in a waiting topic that the binding no longer reads. */
export class WaitingRecordsLeftError extends WaybillError {
  static override readonly code = 'WAYBILL_WAITING_RECORDS_LEFT'

  constructor({ topic, partition }: TopicPartition, count: bigint) {
    super(
      `Cannot run ${topic}-${partition}: ${count} records are still in the waiting topic, from when the binding had ` +
        'orderingMode KEY.',
      {
        impact: 'No record was lost. The partition is paused, because running it would overtake these records.',
        hint: 'Set orderingMode back to KEY until connector.audit() reports waiting 0, then change it.',
      },
    )
  }
}
