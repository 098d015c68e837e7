/** Outputs that a handler cannot send. */

import { StateError, WaybillError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'

/** A handler sends outputs, and its binding has no transactions to write them in: that is how it was declared. */
export class NotTransactionalError extends StateError {
  static override readonly code = 'WAYBILL_NOT_TRANSACTIONAL'

  constructor(binding: string) {
    super(`Binding ${binding} is not transactional.`, {
      impact: 'Nothing was written.',
      hint: 'Set transactional: true, or use a producer of your own; then replay the records that failed with this.',
    })
  }
}

/** A handler sends a record that is larger than its binding allows. A producer refuses such a record with the same reason. */
export class OutputRecordTooLargeError extends KafkaError {
  static override readonly code = 'WAYBILL_OUTPUT_RECORD_TOO_LARGE'

  constructor(topic: string, bytes: number, maxBytes: number) {
    super(`A record of ${bytes} bytes for ${topic} is larger than the ${maxBytes} that the binding allows.`, 'FATAL', {
      reason: 'MESSAGE_TOO_LARGE',
      impact: 'Nothing of a call that fails with this is written, and its record is not tried again.',
      hint: 'Send smaller records, or raise transactional.maxRecordBytes, and max.message.bytes of the topic with it.',
    })
  }
}

/** A handler sends more for one record than its transaction may hold. */
export class OutputsTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTPUTS_TOO_LARGE'

  constructor(bytes: number, maxBytes: number) {
    super(`A call of the handler has sent ${bytes} bytes, and a transaction holds ${maxBytes}.`, {
      impact: 'Nothing of a call that fails with this is written, and its record is not tried again.',
      hint: 'Send less for one record, or raise transactional.maxBytes.',
    })
  }
}
