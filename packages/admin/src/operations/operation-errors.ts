import { WaybillError } from '@waybill/core'

/** Takeovers without progress after which an operation fails. */
export const maxTakeovers = 10

/** Every instance that ran an operation disappeared before it advanced. */
export class OperationStalledError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_STALLED'

  constructor(id: string, takeovers: number) {
    super(`Operation '${id}' failed: ${takeovers} instances disappeared while they ran it, without progress.`, {
      impact: 'Records that were sent stay sent; the others stay where they are.',
      hint: 'Find out why the instances ended, then create the operation again.',
    })
  }
}

/** A process cannot run operations of a type. */
export class UnknownOperationTypeError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_TYPE_UNKNOWN'

  constructor(type: string, known: readonly string[]) {
    super(`This process runs no operations of type '${type}'. It runs ${known.join(', ') || 'none'}.`, {
      impact: 'Nothing was created.',
      hint: 'Pass the connector, the outbox or the kind to createOperations.',
    })
  }
}

/** A key of an earlier request came with another request. */
export class IdempotencyKeyReusedError extends WaybillError {
  static override readonly code = 'WAYBILL_IDEMPOTENCY_KEY_REUSED'

  constructor(key: string) {
    super(`Idempotency key '${key}' belongs to another request.`, {
      impact: 'Nothing was changed.',
      hint: 'Use a new key for each change, and the same key only to repeat one.',
    })
  }
}
