/** The audit log of operators: who read or changed what, and with which outcome (I21). */

/** The operator who requests an operation, and the reason. */
export interface OperatorIdentity {
  /** The name of a person or program. Take it from your authentication, never from the body of a request. */
  readonly by: string
  /** @defaultValue none */
  readonly reason?: string
  /** The interface of the request, such as REST. @defaultValue none */
  readonly via?: string
  /** The network address of the request. @defaultValue none */
  readonly address?: string
}

/** A JSON-safe entry. An operation has two: the request, before anything is done, and the outcome. */
export interface AuditEntry<Operation extends string = string> {
  /** The same in both entries of an operation. */
  readonly id: string
  readonly atMs: number
  readonly by: string
  readonly reason: string | undefined
  readonly operation: Operation
  /** The name of the binding, or `outbox`. */
  readonly target: string
  /** The parameters of the operation; offsets are decimal strings. */
  readonly request: unknown
  readonly outcome: 'ASKED' | 'REFUSED' | 'DONE' | 'FAILED'
  /** The result, or the reason of the failure. */
  readonly detail: unknown
  /** INSTANCE: the operation affected this process only. */
  readonly scope: 'INSTANCE' | 'FLEET'
  /** The interface of the request. */
  readonly via?: string
  /** The network address of the request. */
  readonly address?: string
}

/** Stores audit entries. If the entry of a request cannot be written, the operation does not run. */
export interface AuditLog {
  write(entry: AuditEntry): Promise<void> | void
}

/** Permissions and audit log of operators. */
export interface AdministrationOptions<Operation extends string = string> {
  /** @defaultValue lines on standard error, whatever the log level */
  readonly auditLog?: AuditLog | undefined
  /**
   * Returns whether the operator may run the operation on the target. Anything but `true` refuses it. The program itself,
   * {@link applicationOperator}, is not asked.
   * @defaultValue every other operator is refused
   */
  readonly permits?:
    | ((operator: OperatorIdentity, operation: Operation, target: string) => boolean | Promise<boolean>)
    | undefined
}
