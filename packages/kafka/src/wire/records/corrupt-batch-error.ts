import { WaybillError } from '@waybill/core'

/** Bytes that are not a record batch: damaged on disk or in transit, or not written by Kafka. */
export class CorruptBatchError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_BATCH_CORRUPT'

  constructor(what: string, cause?: unknown) {
    super(`A record batch cannot be read: ${what}.`, {
      impact: 'None of its records was delivered, and the position did not move.',
      ...(cause === undefined ? {} : { cause }),
      hint: 'If the error remains after another fetch, the log is damaged at this offset.',
    })
  }
}
