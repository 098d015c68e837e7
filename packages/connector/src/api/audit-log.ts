/** The audit log of operator changes: who changed what, and with which outcome (I21). */

import type { ControlScope, OperatorIdentity } from './control.ts'

/** An operation that changes something on behalf of an operator. */
export type AdminOperation =
  | 'REGISTER'
  | 'START'
  | 'STOP'
  | 'PAUSE'
  | 'RESUME'
  | 'DESTROY'
  | 'SEEK'
  | 'SKIP'
  | 'RESET'
  | 'REPLAY'
  | 'REPLAY_TO_TIER'
  | 'RELEASE'
  | 'PURGE'

/** A JSON-safe line of the audit log. Each change has two: the request, before anything is done, and the outcome. */
export interface AuditEntry {
  /** The same on both lines of a change. */
  readonly id: string
  readonly atMs: number
  readonly by: string
  readonly reason: string | undefined
  readonly operation: AdminOperation
  readonly binding: string
  /** The parameters of the operation; offsets are decimal strings. */
  readonly request: unknown
  readonly outcome: 'ASKED' | 'REFUSED' | 'DONE' | 'FAILED'
  /** The result, or the reason of the failure. */
  readonly detail: unknown
  readonly scope: ControlScope
}

/** Stores audit entries. If the entry of a request cannot be written, the change is not made. */
export interface AuditLog {
  write(entry: AuditEntry): Promise<void> | void
}

/** Permissions and audit log of operator changes. */
export interface AdministrationOptions {
  /** @defaultValue lines in the connector's log */
  readonly auditLog?: AuditLog | undefined
  /** Returns whether the operator may run the operation on the binding. @defaultValue every caller may */
  readonly permits?:
    | ((operator: OperatorIdentity, operation: AdminOperation, binding: string) => boolean | Promise<boolean>)
    | undefined
}
