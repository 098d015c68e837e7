import { ArgumentError, createUlidGenerator, describeThrown, type Runtime } from '@waybill/core'
import type { AdministrationOptions, AdminOperation, AuditEntry, AuditLog } from '../api/audit-log.ts'
import type { ControlScope, OperatorIdentity } from '../api/control.ts'
import { AuditUnwritableError, OperationForbiddenError } from './admin-errors.ts'

/** A change and the operator who requests it. */
export interface AuditedChange {
  readonly operation: AdminOperation
  readonly binding: string
  readonly request: unknown
  readonly operator: OperatorIdentity
}

/** Requires an identity, a permission and an audit log entry for every change (I21). */
export class AuditedOperations {
  readonly #runtime: Runtime
  readonly #scope: ControlScope
  readonly #log: AuditLog
  readonly #permits: NonNullable<AdministrationOptions['permits']>
  readonly #nextId: () => string

  constructor(runtime: Runtime, scope: ControlScope, { auditLog, permits = () => true }: AdministrationOptions) {
    this.#runtime = runtime
    this.#scope = scope
    this.#log = auditLog ?? loggedAudit(runtime)
    this.#permits = permits
    this.#nextId = createUlidGenerator(runtime)
  }

  /**
   * Writes the request to the audit log, runs the work, and writes its outcome.
   * @throws ArgumentError, OperationForbiddenError, AuditUnwritableError, or the error of the work
   */
  async run<T>(change: AuditedChange, work: () => Promise<T>, detailOf: (result: T) => unknown): Promise<T> {
    const { operation, binding, operator } = change
    if (typeof operator?.by !== 'string' || operator.by.trim() === '')
      throw new ArgumentError('An operator is required for every change. Pass { by: "…" }.')
    const id = this.#nextId()
    if (!(await this.#permits(operator, operation, binding))) {
      await this.#writeOutcome(id, change, 'REFUSED', undefined)
      throw new OperationForbiddenError(operator.by, operation, binding)
    }
    try {
      await this.#log.write(this.#entry(id, change, 'ASKED', undefined))
    } catch (error) {
      throw new AuditUnwritableError(operation, binding, error)
    }
    try {
      const result = await work()
      await this.#writeOutcome(id, change, 'DONE', detailOf(result))
      return result
    } catch (error) {
      await this.#writeOutcome(id, change, 'FAILED', describeThrown(error))
      throw error
    }
  }

  /** Writes the outcome. A failure is only logged: it must not hide the outcome of the change from the caller. */
  async #writeOutcome(
    id: string,
    change: AuditedChange,
    outcome: AuditEntry['outcome'],
    detail: unknown,
  ): Promise<void> {
    const entry = this.#entry(id, change, outcome, detail)
    try {
      await this.#log.write(entry)
    } catch (err) {
      this.#runtime.logger.error({ err, audit: entry }, 'Audit log entry not written')
    }
  }

  #entry(id: string, change: AuditedChange, outcome: AuditEntry['outcome'], detail: unknown): AuditEntry {
    const { operation, binding, request, operator } = change
    return {
      id,
      atMs: this.#runtime.clock.now(),
      by: operator.by,
      reason: operator.reason,
      operation,
      binding,
      request: plain(request),
      outcome,
      detail: plain(detail),
      scope: this.#scope,
    }
  }
}

/** Converts a value to plain JSON: bigints to decimal strings, errors to their text, without functions. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, one: unknown) => {
    if (typeof one === 'bigint') return one.toString()
    return one instanceof Error ? describeThrown(one) : one
  })
  return text === undefined ? undefined : JSON.parse(text)
}

/**
 * Creates an audit log that writes to the connector's logger. Nested values are JSON: text loggers do not show them.
 */
export function loggedAudit({ logger }: Pick<Runtime, 'logger'>): AuditLog {
  return {
    write({ request, detail, ...entry }) {
      const text = `Admin operation ${entry.operation} of ${entry.binding} by ${entry.by}: ${entry.outcome}`
      logger.info({ ...entry, request: JSON.stringify(request), detail: JSON.stringify(detail) }, text)
    },
  }
}
