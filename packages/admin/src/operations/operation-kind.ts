import type { OperatorIdentity } from '@waybill/core'
import type { LogRange, OperationItem, OperationType, StoredOperation } from '@waybill/core/internal'

/** A frozen selection: what an operation does is decided when it is created. */
export interface PlannedOperation {
  /** The binding or outbox, as its key. */
  readonly target: string
  /** The request with all defaults and absolute times, as JSON. */
  readonly request: unknown
  /** The ranges to process; empty if the type continues by a cursor. */
  readonly ranges: readonly LogRange[]
  /** The counts and warnings of a plan, as JSON. */
  readonly plan: unknown
}

/** A part of an operation that is about to take effect. */
export interface RunBatch {
  readonly scanned: number
  /** The number of records that are about to take effect. */
  readonly count: number
  /** These records. A takeover that finds them unsettled repeats them. */
  readonly intended: readonly LogRange[]
  readonly refused: readonly RefusedRecord[]
  /** The ranges that are not read after this batch. */
  readonly remaining: readonly LogRange[]
  /** See `OperationProgress.cursor`. */
  readonly position?: unknown
}

/** A record without an effect. */
export interface RefusedRecord {
  readonly reason: string
  /** Undefined for a record that has no offset. */
  readonly at?: Pick<OperationItem, 'topic' | 'partition' | 'offset'> | undefined
}

/** The effects of a batch. */
export interface AppliedBatch {
  /** Confirmed. */
  readonly sent: number
  readonly refused: readonly RefusedRecord[]
  /** Without an effect: to be repeated. */
  readonly unsent: readonly LogRange[]
  /** With or without an effect: repeated, and counted as such. */
  readonly unknown: readonly LogRange[]
  readonly failure: Error | undefined
  /** Replaces `position` of the batch, also after a failure. */
  readonly position?: unknown
  /** Replaces `scanned` of the batch, if only the effect reads. */
  readonly scanned?: number
}

/** One run of an operation, by one instance. */
export interface OperationSession extends AsyncDisposable {
  /**
   * Reads and decides; undefined at the end. Has no effect.
   * @param signal - aborts when the read is abandoned: its result is dropped, and the session is disposed of
   */
  next(maxCount: number, signal: AbortSignal): Promise<RunBatch | undefined>
  /** Takes effect. */
  apply(batch: RunBatch): Promise<AppliedBatch>
}

/** A type of operations. */
export interface OperationKind {
  readonly type: OperationType
  /** Whether an effect can be repeated without a trace: a takeover then repeats nothing that counts. */
  readonly isIdempotent: boolean
  /** Whether operations on the same ranges run one after the other. */
  readonly isExclusive: boolean
  /**
   * Freezes a request.
   * @param isCounted - whether to read the selection and count it, for a plan that is shown
   */
  plan(request: object, operator: OperatorIdentity, isCounted: boolean): Promise<PlannedOperation>
  /** Opens a run that continues at the progress of the operation. */
  open(operation: StoredOperation, operator: OperatorIdentity): Promise<OperationSession>
}
