import { WaybillError } from '@waybill/core'
import type { AdminOperation } from '../api/audit-log.ts'

/** The operator lacks the permission for an operation. */
export class OperationForbiddenError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_FORBIDDEN'

  constructor(by: string, operation: AdminOperation, binding: string) {
    super(`${by} may not ${operation} binding '${binding}'.`, { impact: 'Nothing was changed.' })
  }
}

/** An operation was not run, because its request could not be written to the audit log. */
export class AuditUnwritableError extends WaybillError {
  static override readonly code = 'WAYBILL_AUDIT_UNWRITABLE'

  constructor(operation: AdminOperation, binding: string, cause: unknown) {
    super(`${operation} of binding '${binding}' not run: the audit log could not be written.`, {
      cause,
      impact: 'Nothing was changed.',
      hint: 'Restore the audit log, then retry.',
    })
  }
}
