import { ArgumentError, createUlidGenerator, describeThrown, type Runtime } from '@waybill/core'
import type { AdministrationOptions, AdminOperation, AuditEntry, AuditLog } from '../api/audit-log.ts'
import type { ControlScope, OperatorIdentity } from '../api/control.ts'
import { AuditUnwritableError, OperationForbiddenError } from './admin-errors.ts'

/** A change, and whom it is for. */
export interface AuditedChange {
  readonly operation: AdminOperation
  readonly binding: string
  readonly request: unknown
  readonly operator: OperatorIdentity
}

/** No change without an identity, a permission and an entry in the audit log (I21). */
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

  /** Does it between its two entries. @throws ArgumentError, OperationForbiddenError, AuditUnwritableError, or what it throws */
  async run<T>(change: AuditedChange, work: () => Promise<T>, detailOf: (result: T) => unknown): Promise<T> {
    const { operation, binding, operator } = change
    if (typeof operator?.by !== 'string' || operator.by.trim() === '')
      throw new ArgumentError('Say who asks: a change needs an operator, { by: "…" }.')
    const id = this.#nextId()
    if (!(await this.#permits(operator, operation, binding))) {
      await this.#writeEnd(id, change, 'REFUSED', undefined)
      throw new OperationForbiddenError(operator.by, operation, binding)
    }
    try {
      await this.#log.write(this.#entry(id, change, 'ASKED', undefined))
    } catch (error) {
      throw new AuditUnwritableError(operation, binding, error)
    }
    try {
      const result = await work()
      await this.#writeEnd(id, change, 'DONE', detailOf(result))
      return result
    } catch (error) {
      await this.#writeEnd(id, change, 'FAILED', describeThrown(error))
      throw error
    }
  }

  /** The change is made or not by now: that its end cannot be written changes neither, and must not hide it. */
  async #writeEnd(id: string, change: AuditedChange, outcome: AuditEntry['outcome'], detail: unknown): Promise<void> {
    const entry = this.#entry(id, change, outcome, detail)
    try {
      await this.#log.write(entry)
    } catch (err) {
      this.#runtime.logger.error({ err, audit: entry }, 'How a change ended could not be written into the audit log')
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

/** What JSON can hold: offsets as decimal digits, errors as their text, and no functions. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, one: unknown) => {
    if (typeof one === 'bigint') return one.toString()
    return one instanceof Error ? describeThrown(one) : one
  })
  return text === undefined ? undefined : JSON.parse(text)
}

/** Entries as lines of the connector's log: what is nested as JSON, since a log of text shows none of it. */
export function loggedAudit({ logger }: Pick<Runtime, 'logger'>): AuditLog {
  return {
    write({ request, detail, ...entry }) {
      const text = `${entry.by} asks for ${entry.operation} of ${entry.binding}: ${entry.outcome}`
      logger.info({ ...entry, request: JSON.stringify(request), detail: JSON.stringify(detail) }, text)
    },
  }
}
