import { isWaybillError, WaybillError } from '@waybill/core'

/**
 * Thrown by a bulk handler that knows which record failed: those before it succeeded and are settled, it and those behind
 * it are not. An index that names no record of the call fails all of them.
 */
export class BatchProcessingError extends WaybillError {
  static override readonly code = 'WAYBILL_BATCH_PROCESSING_FAILED'
  /** Of the record that failed, in what the handler was given. */
  readonly failedIndex: number

  /** @param context - `cause` is what the failure is classified by, and what a dead letter tells */
  constructor(failedIndex: number, context: { readonly cause?: unknown } = {}) {
    super(`Record ${failedIndex} of the batch failed.`, {
      ...context,
      kept: 'Those before it are settled; it and those behind it are not.',
      next: 'Look at the cause: what becomes of the record is up to retries and batchFailureStrategy.',
    })
    this.failedIndex = failedIndex
  }
}

/** What a call with many records threw. */
export interface BulkFailure {
  /** Of the record that failed; undefined: all of them did. */
  readonly index: number | undefined
  /** As classifiers and dead letters are to see it. */
  readonly error: unknown
}

/** Reads what a bulk handler threw when it was given so many records. */
export function bulkFailureOf(thrown: unknown, size: number): BulkFailure {
  if (!isBatchProcessingError(thrown)) return { index: undefined, error: thrown }
  const { failedIndex, cause } = thrown
  const isOne = Number.isInteger(failedIndex) && failedIndex >= 0 && failedIndex < size
  return isOne ? { index: failedIndex, error: cause ?? thrown } : { index: undefined, error: thrown }
}

/** Also of another copy of the package. */
function isBatchProcessingError(thrown: unknown): thrown is BatchProcessingError {
  return isWaybillError(thrown) && thrown.code === BatchProcessingError.code
}
