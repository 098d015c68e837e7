import { CircuitOpenError } from '../breaker/circuit-open-error.ts'
import { readProperty } from './cause-chain.ts'
import type { ErrorMatcher } from './error-matcher.ts'

const isServiceUnavailable = (error: unknown): boolean =>
  readProperty(error, 'status') === 503 || readProperty(error, 'statusCode') === 503

type ErrorGroup =
  | 'connection'
  | 'timeout'
  | 'conflict'
  | 'unavailable'
  | 'circuitOpen'
  | 'decoding'
  | 'schema'
  | 'argument'
  | 'businessRule'

/**
 * Errors that are known without configuration, by what they report. Waybill's own are named by class and by code: two
 * copies of a package have two classes.
 */
export const errorGroups: Readonly<Record<ErrorGroup, readonly ErrorMatcher[]>> = {
  /** Node's own codes, then those of its fetch. */
  connection: [
    'ECONNRESET',
    'ECONNREFUSED',
    'ECONNABORTED',
    'EPIPE',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EAI_AGAIN',
    'UND_ERR_SOCKET',
  ],
  /** Sockets, fetch, and AbortSignal.timeout(). */
  timeout: ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'TimeoutError'],
  /** Lost a race: object mappers, serialization failures and deadlocks of PostgreSQL and MySQL. */
  conflict: [
    'OptimisticLockError',
    'OptimisticLockVersionMismatchError',
    '40001',
    '40P01',
    'ER_LOCK_DEADLOCK',
    'ER_LOCK_WAIT_TIMEOUT',
  ],
  unavailable: ['UnavailableError', 'ServiceUnavailableError', 'ServiceUnavailableException', isServiceUnavailable],
  circuitOpen: [CircuitOpenError, CircuitOpenError.code],
  decoding: ['DeserializationError', 'ParseError'],
  schema: ['SchemaViolationError', 'SchemaValidationError', 'UnknownEventTypeError'],
  argument: ['ArgumentError'],
  businessRule: ['BusinessRuleViolationError'],
}
