import { describeThrown } from '../errors.ts'
import { createUlidGenerator } from '../id/ulid.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { LogMethod } from '../telemetry/logger.ts'
import { createStandardErrorLogger } from '../telemetry/standard-error-logger.ts'
import { checkOperator, isApplicationOperator } from './application-operator.ts'
import { AuditUnwritableError, OperationForbiddenError } from './audit-errors.ts'
import type { AdministrationOptions, AuditEntry, AuditLog, OperatorIdentity } from './audit-log.ts'

/** An operation and the operator who requests it. */
export interface AuditedOperation<Operation extends string> {
  readonly operation: Operation
  readonly target: string
  readonly request: unknown
  readonly operator: OperatorIdentity
}

/** An operation with the names of its operator at the request: the object is the caller's, who may change it meanwhile. */
type Named<Operation extends string> = AuditedOperation<Operation> &
  Pick<AuditEntry, 'by' | 'reason' | 'via' | 'address'>

/** Requires an identity, a permission and an audit log entry for every operation (I21). */
export class AuditedOperations<Operation extends string> {
  readonly #runtime: Runtime
  readonly #scope: AuditEntry['scope']
  readonly #log: AuditLog
  readonly #permits: AdministrationOptions<Operation>['permits']
  readonly #nextId: () => string

  constructor(
    runtime: Runtime,
    scope: AuditEntry['scope'],
    { auditLog = standardErrorAudit, permits }: AdministrationOptions<Operation>,
  ) {
    this.#runtime = runtime
    this.#scope = scope
    this.#log = auditLog
    this.#permits = permits
    this.#nextId = createUlidGenerator(runtime)
  }

  /**
   * Writes the request to the audit log, runs the work, and writes its outcome.
   * @throws ArgumentError, OperationForbiddenError, AuditUnwritableError, or the error of the work
   */
  async run<T>(
    given: AuditedOperation<Operation>,
    work: () => Promise<T>,
    detailOf: (result: T) => unknown,
    failureDetailOf: (error: unknown) => unknown = describeThrown,
  ): Promise<T> {
    const asked = named(given)
    const id = await this.#begin(asked)
    try {
      const result = await work()
      await this.#writeOutcome(id, asked, 'DONE', detailOf(result))
      return result
    } catch (error) {
      await this.#writeOutcome(id, asked, 'FAILED', failureDetailOf(error))
      throw error
    }
  }

  /**
   * Streams what an operator reads, with one entry before the first item and one with their number after the last.
   * @throws ArgumentError, OperationForbiddenError, AuditUnwritableError, or the error of the stream
   */
  async *stream<T>(given: AuditedOperation<Operation>, open: () => AsyncIterable<T>): AsyncGenerator<T> {
    const asked = named(given)
    const id = await this.#begin(asked)
    let read = 0
    let failure: unknown
    try {
      for await (const item of open()) {
        read++
        yield item
      }
    } catch (error) {
      failure = describeThrown(error)
      throw error
    } finally {
      // Also reached when the caller leaves its loop early.
      await this.#writeOutcome(id, asked, failure === undefined ? 'DONE' : 'FAILED', { read, error: failure })
    }
  }

  /**
   * Requires an identity and a permission. An operation that is allowed leaves no entry: for reads that reveal numbers only.
   * @throws ArgumentError, OperationForbiddenError
   */
  async permit(given: AuditedOperation<Operation>): Promise<void> {
    await this.#permit(named(given))
  }

  /** Writes that an operator was refused before anything of the operation was known. Never rejects but for a wrong operator. */
  async refuse(given: AuditedOperation<Operation>): Promise<void> {
    await this.#writeOutcome(this.#nextId(), named(given), 'REFUSED', undefined)
  }

  async #permit(asked: Named<Operation>): Promise<void> {
    if (await this.#isPermitted(asked)) return
    await this.#writeOutcome(this.#nextId(), asked, 'REFUSED', undefined)
    throw new OperationForbiddenError(asked.by, asked.operation, asked.target, this.#permits !== undefined)
  }

  async #isPermitted({ operation, target, operator }: AuditedOperation<Operation>): Promise<boolean> {
    return isApplicationOperator(operator) || (await this.#permits?.(operator, operation, target)) === true
  }

  /** Returns the id of the operation once its request is in the audit log. */
  async #begin(asked: Named<Operation>): Promise<string> {
    await this.#permit(asked)
    const id = this.#nextId()
    try {
      await this.#log.write(this.#entry(id, asked, 'ASKED', undefined))
    } catch (error) {
      throw new AuditUnwritableError(asked.operation, asked.target, error)
    }
    return id
  }

  /** Writes the outcome. A failure is only logged: it must not hide the outcome of the operation from the caller. */
  async #writeOutcome(
    id: string,
    asked: Named<Operation>,
    outcome: AuditEntry['outcome'],
    detail: unknown,
  ): Promise<void> {
    const entry = this.#entry(id, asked, outcome, detail)
    try {
      await this.#log.write(entry)
    } catch (err) {
      this.#runtime.logger.error({ err, audit: entry }, 'Audit log entry not written')
    }
  }

  #entry(
    id: string,
    { operation, target, request, by, reason, via, address }: Named<Operation>,
    outcome: AuditEntry['outcome'],
    detail: unknown,
  ): AuditEntry<Operation> {
    return {
      id,
      atMs: this.#runtime.clock.now(),
      by,
      reason,
      operation,
      target,
      request: plain(request),
      outcome,
      detail: plain(detail),
      scope: this.#scope,
      ...(via === undefined ? {} : { via }),
      ...(address === undefined ? {} : { address }),
    }
  }
}

/** @throws ArgumentError */
function named<Operation extends string>(asked: AuditedOperation<Operation>): Named<Operation> {
  return { ...asked, ...checkOperator(asked.operator) }
}

/** Converts a value to plain JSON: bigints to decimal strings, errors to their text, without functions. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, one: unknown) => {
    if (typeof one === 'bigint') return one.toString()
    return one instanceof Error ? describeThrown(one) : one
  })
  return text === undefined ? undefined : JSON.parse(text)
}

/** Creates an audit log that writes lines. Nested values are JSON: text loggers do not show them. */
export function createLineAudit(write: LogMethod): AuditLog {
  return {
    write({ request, detail, ...entry }) {
      const text = `Admin operation ${entry.operation} of ${entry.target} by ${entry.by}: ${entry.outcome}`
      write({ ...entry, request: JSON.stringify(request), detail: JSON.stringify(detail) }, text)
    },
  }
}

/** A sink of its own: an entry must not depend on the logger or the level of a runtime. */
const standardErrorAudit: AuditLog = createLineAudit(createStandardErrorLogger('INFO').info)
