import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'

/** The waiting topic is not the log that was being read: it was truncated or re-created. */
export class WaitingTopicLostError extends WaybillError {
  static override readonly code = 'WAYBILL_WAITING_TOPIC_LOST'

  constructor({ topic, partition }: TopicPartition) {
    super(`${topic}-${partition} was cut, or deleted and created again, while records waited there.`, {
      impact: 'Its current records are read from the beginning. Earlier records that were not handled are lost.',
      hint: 'Look for records without an outcome (connector.audit(), the log of the source) and send them again.',
    })
  }
}
