/** Errors of outputs that a handler cannot send. */

import { StateError, WaybillError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'

/** A handler called `context.send` in a binding that is not transactional. */
export class NotTransactionalError extends StateError {
  static override readonly code = 'WAYBILL_NOT_TRANSACTIONAL'

  constructor(binding: string) {
    super(`Cannot send outputs: binding ${binding} is not transactional.`, {
      impact: 'No output was written.',
      hint: 'Set transactional: true, or use your own producer. Then replay the records that failed.',
    })
  }
}

/** An output exceeds the record limit of the binding. A producer rejects such a record with the same reason. */
export class OutputRecordTooLargeError extends KafkaError {
  static override readonly code = 'WAYBILL_OUTPUT_RECORD_TOO_LARGE'

  constructor(topic: string, bytes: number, maxBytes: number) {
    super(`Cannot send a record of ${bytes} bytes to ${topic}: the binding allows ${maxBytes}.`, 'FATAL', {
      reason: 'MESSAGE_TOO_LARGE',
      impact: 'If the handler fails with this error, no output is written, and its record is not retried.',
      hint: 'Send smaller records, or raise transactional.maxRecordBytes together with max.message.bytes of the topic.',
    })
  }
}

/** A handler call sent more than a transaction may contain. */
export class OutputsTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_OUTPUTS_TOO_LARGE'

  constructor(bytes: number, maxBytes: number) {
    super(`Cannot send ${bytes} bytes in one handler call: a transaction may contain ${maxBytes}.`, {
      impact: 'If the handler fails with this error, no output is written, and its record is not retried.',
      hint: 'Send less for one record, or raise transactional.maxBytes.',
    })
  }
}
