import { WaybillError } from '@waybill/core'
import type { AdminOperation } from '../api/audit-log.ts'

/** Somebody asked for something that is not theirs to do. */
export class OperationForbiddenError extends WaybillError {
  static override readonly code = 'WAYBILL_OPERATION_FORBIDDEN'

  constructor(by: string, operation: AdminOperation, binding: string) {
    super(`${by} may not ${operation} binding '${binding}'.`, { impact: 'Nothing was changed.' })
  }
}

/** That a change was asked for could not be written down. */
export class AuditUnwritableError extends WaybillError {
  static override readonly code = 'WAYBILL_AUDIT_UNWRITABLE'

  constructor(operation: AdminOperation, binding: string, cause: unknown) {
    super(`${operation} of binding '${binding}' was not done, because the audit log could not be written.`, {
      cause,
      impact: 'Nothing was changed.',
      hint: 'Bring the audit log back, then ask again.',
    })
  }
}
