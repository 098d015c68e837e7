/** Who changed what, and what became of it (I21). */

import type { ControlScope, OperatorIdentity } from './control.ts'

/** What operators can ask for. */
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

/** One line, as JSON can hold it. A change has two: that it was asked for, before anything is done, and how it ended. */
export interface AuditEntry {
  /** The same on both lines of a change. */
  readonly id: string
  readonly atMs: number
  readonly by: string
  readonly reason: string | undefined
  readonly operation: AdminOperation
  readonly binding: string
  /** What was asked for; offsets are decimal digits. */
  readonly request: unknown
  readonly outcome: 'ASKED' | 'REFUSED' | 'DONE' | 'FAILED'
  /** What came of it, or why it failed. */
  readonly detail: unknown
  readonly scope: ControlScope
}

/** Keeps entries. A change is not made when that it was asked for cannot be written down. */
export interface AuditLog {
  write(entry: AuditEntry): Promise<void> | void
}

/** How changes by operators are allowed and kept. */
export interface AdministrationOptions {
  /** @defaultValue lines of the connector's log */
  readonly auditLog?: AuditLog | undefined
  /** Whether this operator may do this to this binding. @defaultValue everybody who can call it may */
  readonly permits?:
    | ((operator: OperatorIdentity, operation: AdminOperation, binding: string) => boolean | Promise<boolean>)
    | undefined
}
