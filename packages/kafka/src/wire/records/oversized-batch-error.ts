import { WaybillError } from '@waybill/core'

/** The facts of a batch that is too large to decompress. */
export interface OversizedBatch {
  readonly topic: string
  readonly partition: number
  /** The first of its offsets that was not delivered. */
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  /** The size of its records, or a lower bound. */
  readonly bytes: number
  readonly isAtLeast: boolean
  /** Its size in the log. */
  readonly packedBytes: number
  /** The newest timestamp of its records, in epoch milliseconds. */
  readonly timestamp: number
}

/** A record batch that decompresses to more than `maxBatchBytes`. */
export class OversizedBatchError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_BATCH_OVERSIZED'
  readonly batch: OversizedBatch

  constructor(batch: OversizedBatch, maxBatchBytes: number) {
    const { topic, partition, firstOffset, lastOffset, bytes, isAtLeast, packedBytes } = batch
    const size = `${isAtLeast ? 'at least ' : ''}${bytes} bytes`
    super(
      `The batch at offsets ${firstOffset} to ${lastOffset} of ${topic}-${partition}, ${packedBytes} bytes in the log, ` +
        `decompresses to ${size}: more than maxBatchBytes (${maxBatchBytes}).`,
      {
        impact: 'None of these records was delivered, and the position did not move.',
        hint: 'Raise maxBatchBytes if there is memory for it, or seek past the batch.',
      },
    )
    this.batch = Object.freeze({ ...batch })
  }
}
