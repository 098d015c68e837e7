import { KafkaError } from '../../client/kafka-error.ts'

/** A handler sends a record that is larger than its binding allows. A producer refuses such a record with the same reason. */
export class OutputRecordTooLargeError extends KafkaError {
  static override readonly code = 'WAYBILL_OUTPUT_RECORD_TOO_LARGE'

  constructor(topic: string, bytes: number, maxBytes: number) {
    super(`A record of ${bytes} bytes for ${topic} is larger than the ${maxBytes} that the binding allows.`, 'FATAL', {
      reason: 'MESSAGE_TOO_LARGE',
      kept: 'Nothing of a call that fails with this is written, and its record is not tried again.',
      next: 'Send smaller records, or raise transactional.maxRecordBytes, and max.message.bytes of the topic with it.',
    })
  }
}
