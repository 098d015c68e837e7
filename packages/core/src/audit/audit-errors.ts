import { WaybillError } from '../errors.ts'

/** The operator lacks the permission for an operation. */
export class OperationForbiddenError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_FORBIDDEN'

  constructor(by: string, operation: string, target: string, hasPermits: boolean) {
    super(`${by} may not ${operation} '${target}'.`, {
      impact: 'Nothing was read or changed.',
      ...(hasPermits
        ? {}
        : { hint: 'No operator has a permission yet: pass administration: { permits: (operator, operation) => … }.' }),
    })
  }
}

/** An operation was not run, because its request could not be written to the audit log. */
export class AuditUnwritableError extends WaybillError {
  static override readonly code = 'WAYBILL_AUDIT_UNWRITABLE'

  constructor(operation: string, target: string, cause: unknown) {
    super(`${operation} of '${target}' not run: the audit log could not be written.`, {
      cause,
      impact: 'Nothing was read or changed.',
      hint: 'Restore the audit log, then retry.',
    })
  }
}
