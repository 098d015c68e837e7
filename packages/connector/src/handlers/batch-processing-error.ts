import { isWaybillError, WaybillError } from '@waybill/core'
import { showValue } from '@waybill/core/option'

/**
 * Thrown by a batch handler to name the record that failed. The records before it are settled; it and the records after
 * it are not. An index outside of the batch fails all records.
 */
export class BatchProcessingError extends WaybillError {
  static override readonly code = 'WAYBILL_BATCH_PROCESSING_FAILED'
  /** The index of the failed record in the batch. */
  readonly failedIndex: number

  /**
   * @param context - `cause` is the error that is classified, and that a dead letter records
   * @param size - the size of the batch, if known
   */
  constructor(
    failedIndex: number,
    context: { readonly cause?: unknown } = {},
    size: number = Number.POSITIVE_INFINITY,
  ) {
    const isKnown = isIndexIn(failedIndex, size)
    const batch = Number.isFinite(size) ? `The batch of ${size} records` : 'The batch'
    super(
      isKnown
        ? `Record ${failedIndex} of the batch failed.`
        : `${batch} failed: ${showValue(failedIndex)} is not the index of a record in it.`,
      {
        ...context,
        impact: isKnown
          ? 'No record was lost. The records before it are settled; it and the records after it are not.'
          : 'No record was lost. No record of the batch is settled by this call.',
        hint: 'Check the cause. Retries and batchFailureStrategy decide how the record continues.',
      },
    )
    this.failedIndex = failedIndex
  }
}

/** The failure of a batch handler call. */
export interface BatchFailure {
  /** The index of the failed record; undefined if all records failed. */
  readonly index: number | undefined
  /** The error for classifiers and dead letters. */
  readonly error: unknown
}

/** Interprets the error of a batch handler that received `size` records. */
export function batchFailureOf(thrown: unknown, size: number): BatchFailure {
  if (!isBatchProcessingError(thrown)) return { index: undefined, error: thrown }
  const { failedIndex, cause } = thrown
  if (isIndexIn(failedIndex, size)) return { index: failedIndex, error: cause ?? thrown }
  // The message of the thrown error would claim that the records before the index are settled.
  return { index: undefined, error: new BatchProcessingError(failedIndex, { cause }, size) }
}

function isIndexIn(value: unknown, size: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < size
}

/** Recognizes errors of another copy of the package as well. */
function isBatchProcessingError(thrown: unknown): thrown is BatchProcessingError {
  return isWaybillError(thrown) && thrown.code === BatchProcessingError.code
}
