import { WaybillError } from '@waybill/core'

/** Bytes that are not a record batch: broken on the disk or on the way, or not written by Kafka at all. */
export class CorruptBatchError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_BATCH_CORRUPT'

  constructor(what: string, cause?: unknown) {
    super(`A record batch cannot be read: ${what}.`, {
      impact: 'Nothing of it was handed out, and the position did not move.',
      ...(cause === undefined ? {} : { cause }),
      hint: 'If fetching it again does not help, the log itself is damaged at this offset.',
    })
  }
}
