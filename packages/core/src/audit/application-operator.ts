import { ArgumentError } from '../errors.ts'
import type { AuditEntry, OperatorIdentity } from './audit-log.ts'

/** A registered symbol: two copies of this package recognize each other's operators, and no JSON can contain it. */
const isApplication = Symbol.for('waybill.application-operator')

const applicationName = 'application'

/**
 * Returns the operator for operations that the program itself decides on, such as a replay in a scheduled job. It needs no
 * permission, so never pass it for a request from outside.
 */
export function applicationOperator(reason?: string): OperatorIdentity {
  const operator = { by: applicationName, ...(reason === undefined ? {} : { reason }) }
  // Not enumerable: a copy of the object is no longer the application.
  return Object.freeze(Object.defineProperty(operator, isApplication, { value: true }))
}

/** Returns whether an operator was made by {@link applicationOperator}. An object that inherits from one was not. */
export function isApplicationOperator(operator: OperatorIdentity): boolean {
  return Object.hasOwn(operator, isApplication)
}

/**
 * Returns the names of an operator.
 * @throws ArgumentError for one without a name, or with the name of the application, or with a reason that is not a text
 */
export function checkOperator(
  operator: OperatorIdentity | undefined,
): Pick<AuditEntry, 'by' | 'reason' | 'via' | 'address'> {
  const { by, reason, via, address } = operator ?? { by: undefined }
  if (operator === undefined || typeof by !== 'string' || by.trim() === '')
    throw new ArgumentError(
      'An operator is required. Pass { by: "…" }, or applicationOperator() for the program itself.',
    )
  if (by === applicationName && !isApplicationOperator(operator))
    throw new ArgumentError(`The operator name '${applicationName}' is reserved. Pass applicationOperator().`)
  if (reason !== undefined && typeof reason !== 'string')
    throw new ArgumentError('The reason of an operator must be a text.')
  for (const [name, value] of Object.entries({ via, address }))
    if (value !== undefined && typeof value !== 'string')
      throw new ArgumentError(`The ${name} of an operator must be a text.`)
  return { by, reason, ...(via === undefined ? {} : { via }), ...(address === undefined ? {} : { address }) }
}
