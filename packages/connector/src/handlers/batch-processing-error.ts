import { isWaybillError, WaybillError } from '@waybill/core'
import { showValue } from '@waybill/core/option'

/**
 * Thrown by a batch handler that knows which record failed: those before it succeeded and are settled, it and those behind
 * it are not. An index that names no record of the call fails all of them.
 */
export class BatchProcessingError extends WaybillError {
  static override readonly code = 'WAYBILL_BATCH_PROCESSING_FAILED'
  /** Of the record that failed, in what the handler was given. */
  readonly failedIndex: number

  /**
   * @param context - `cause` is what the failure is classified by, and what a dead letter tells
   * @param size - of the batch, where it is known
   */
  constructor(
    failedIndex: number,
    context: { readonly cause?: unknown } = {},
    size: number = Number.POSITIVE_INFINITY,
  ) {
    const isKnown = isIndexIn(failedIndex, size)
    const batch = Number.isFinite(size) ? `A batch of ${size} records` : 'A batch'
    super(
      isKnown
        ? `Record ${failedIndex} of the batch failed.`
        : `${batch} failed, and ${showValue(failedIndex)} is no index of a record in it.`,
      {
        ...context,
        impact: isKnown
          ? 'Those before it are settled; it and those behind it are not.'
          : 'No record of the batch is settled by this call.',
        hint: 'Look at the cause: what becomes of the record is up to retries and batchFailureStrategy.',
      },
    )
    this.failedIndex = failedIndex
  }
}

/** What a call with many records threw. */
export interface BatchFailure {
  /** Of the record that failed; undefined: all of them did. */
  readonly index: number | undefined
  /** As classifiers and dead letters are to see it. */
  readonly error: unknown
}

/** Reads what a batch handler threw when it was given so many records. */
export function batchFailureOf(thrown: unknown, size: number): BatchFailure {
  if (!isBatchProcessingError(thrown)) return { index: undefined, error: thrown }
  const { failedIndex, cause } = thrown
  if (isIndexIn(failedIndex, size)) return { index: failedIndex, error: cause ?? thrown }
  // What was thrown promises that those before the index are settled.
  return { index: undefined, error: new BatchProcessingError(failedIndex, { cause }, size) }
}

function isIndexIn(value: unknown, size: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < size
}

/** Also of another copy of the package. */
function isBatchProcessingError(thrown: unknown): thrown is BatchProcessingError {
  return isWaybillError(thrown) && thrown.code === BatchProcessingError.code
}
