import { anyErrorPredicate, causeChain, errorGroups, failureKindOf } from '@waybill/core/internal'
import type { FailureType } from '../api/failure-type.ts'

const isTimeout = anyErrorPredicate(errorGroups.timeout)
const isConnection = anyErrorPredicate(errorGroups.connection)

/** Returns the type of a failure. A timeout is one even if it ended a connection. */
export function failureTypeOf(error: unknown): FailureType {
  if (failureKindOf(error) === 'PERMANENT') return 'VALIDATION'
  const chain = causeChain(error)
  if (chain.some(isTimeout)) return 'TIMEOUT'
  return chain.some(isConnection) ? 'NETWORK' : 'SYSTEM'
}
