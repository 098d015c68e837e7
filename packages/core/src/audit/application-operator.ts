import { ArgumentError } from '../errors.ts'
import type { OperatorIdentity } from './audit-log.ts'

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

/** Returns whether an operator was made by {@link applicationOperator}. */
export function isApplicationOperator(operator: OperatorIdentity): boolean {
  return isApplication in operator
}

/** @throws ArgumentError for an operator without a name, or with the name of the application */
export function checkOperator(operator: OperatorIdentity | undefined): void {
  if (typeof operator?.by !== 'string' || operator.by.trim() === '')
    throw new ArgumentError(
      'An operator is required. Pass { by: "…" }, or applicationOperator() for the program itself.',
    )
  if (operator.by === applicationName && !isApplicationOperator(operator))
    throw new ArgumentError(`The operator name '${applicationName}' is reserved. Pass applicationOperator().`)
}
