import { type ErrorContext, OperationForbiddenError, WaybillError } from '@waybill/core'
import type { ErrorText } from '@waybill/core/internal'
import type { AdminPermission } from '../access/permission.ts'

const nothingChanged = 'Nothing was changed.'

/** Further members of the answer, as JSON can hold them. */
export type ProblemDetails = Readonly<Record<string, unknown>>

/** The statuses of a request that the server does not understand. */
export type BadRequestStatus = 400 | 403 | 405 | 406 | 413 | 414 | 415 | 431

/** The request is not one that the API understands. */
export class AdminRequestError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_BAD_REQUEST'
  readonly status: BadRequestStatus
  readonly details: ProblemDetails

  constructor(
    what: string,
    context: { readonly status?: BadRequestStatus; readonly hint?: string } & ProblemDetails = {},
  ) {
    const { status = 400, hint, ...details } = context
    super(what, { impact: nothingChanged, ...(hint === undefined ? {} : { hint }) })
    this.status = status
    this.details = details
  }
}

/** The host does not know who sends the request. */
export class AdminUnidentifiedError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_UNIDENTIFIED'

  constructor(what: string, hint: string) {
    super(what, { impact: 'Nothing was read or changed.', hint })
  }
}

/** There is nothing at this address, or nothing that the operator may see. */
export class AdminNotFoundError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_NOT_FOUND'

  constructor(what: string, hint?: string) {
    super(what, { impact: nothingChanged, ...(hint === undefined ? {} : { hint }) })
  }
}

/** The dead letter is below the start of its log: a purge or the retention deleted it. */
export class DeadLetterGoneError extends WaybillError {
  static override readonly code = 'WAYBILL_DEAD_LETTER_GONE'

  constructor(id: string, start: bigint) {
    super(`Dead letter ${id} was deleted: its partition begins at offset ${start}.`, {
      impact: nothingChanged,
      hint: 'The audit log shows a purge; otherwise the retention of the topic deleted it.',
    })
  }
}

/** Another operator changed the dead letter since it was read. */
export class DeadLetterChangedError extends WaybillError {
  static override readonly code = 'WAYBILL_DEAD_LETTER_CHANGED'
  readonly version: string

  constructor(id: string, version: string) {
    super(`Dead letter ${id} was changed since you read it: it is now ${version}.`, {
      impact: nothingChanged,
      hint: 'Read it again, then decide.',
    })
    this.version = version
  }
}

/** The change needs a reason. */
export class ReasonRequiredError extends WaybillError {
  static override readonly code = 'WAYBILL_REASON_REQUIRED'

  constructor(operation: string) {
    super(`${operation} needs a reason, which goes to the audit log.`, {
      impact: nothingChanged,
      hint: 'Send "reason" in the body, or the header Waybill-Reason.',
    })
  }
}

/** The operator sends more than the API admits, or another request with this key still runs. */
export class AdminBusyError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_RATE_LIMITED'
  readonly status: 409 | 429 | 503
  readonly retryAfterSeconds: number

  constructor(what: string, status: 409 | 429 | 503, retryAfterSeconds: number, context: ErrorContext = {}) {
    super(what, { impact: nothingChanged, hint: `Retry after ${retryAfterSeconds} s.`, ...context })
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** An operation that a request waited for has failed. */
export class OperationFailedError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_OPERATION_FAILED'
  readonly details: ProblemDetails

  constructor(id: string, trouble: ErrorText | undefined) {
    // Without a code it is the text of a driver, which may hold addresses and statements.
    super(`Operation '${id}' failed${trouble?.code === undefined ? '.' : `: ${trouble.message}`}`, {
      impact: 'Records that were sent stay sent; the others stay where they are.',
      hint: 'Read the operation to see what it did.',
    })
    this.details = { operation: id, ...(trouble?.code === undefined ? {} : { cause: trouble.code }) }
  }
}

/** An unexpected failure. Its cause is in the log of the process alone: it may hold addresses and statements. */
export class AdminInternalError extends WaybillError {
  static override readonly code = 'WAYBILL_ADMIN_INTERNAL'

  constructor(requestId: string) {
    super('The server failed to answer.', { hint: `Search its log for the request ${requestId}.` })
  }
}

/** Creates the error for a permission that the operator lacks. */
export function forbidden(
  by: string,
  permission: AdminPermission,
  target: string,
): OperationForbiddenError & { readonly permission: AdminPermission } {
  return Object.assign(new OperationForbiddenError(by, permission, target, true), { permission })
}
