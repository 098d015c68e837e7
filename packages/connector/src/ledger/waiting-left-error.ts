import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'

/** Records wait in a topic that the binding, as it is now, does not read. */
export class WaitingRecordsLeftError extends WaybillError {
  static override readonly code = 'WAYBILL_WAITING_RECORDS_LEFT'

  constructor({ topic, partition }: TopicPartition, count: bigint) {
    super(
      `${count} records of ${topic}-${partition} wait for their turn in the waiting topic, from when the binding had ` +
        'orderingMode KEY.',
      {
        impact: 'They are kept, and nothing of the partition runs: it would overtake them.',
        hint: 'Set orderingMode back to KEY until connector.audit() shows none waiting, then change it.',
      },
    )
  }
}
