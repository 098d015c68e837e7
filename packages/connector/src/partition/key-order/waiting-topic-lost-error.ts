import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'

/** The waiting topic is not the log that was being read: it was cut, or deleted and created again. */
export class WaitingTopicLostError extends WaybillError {
  static override readonly code = 'WAYBILL_WAITING_TOPIC_LOST'

  constructor({ topic, partition }: TopicPartition) {
    super(`${topic}-${partition} was cut, or deleted and created again, while records waited there.`, {
      impact: 'What it holds now is read from its beginning. What it held before and nobody had handled is gone.',
      hint: 'Look for records without an outcome (connector.audit(), the log of the source) and send them again.',
    })
  }
}
