import { CircuitOpenError } from '../breaker/circuit-open-error.ts'
import { NonRetryableError } from '../errors.ts'
import { type KnownError, knownChain, readProperty } from './cause-chain.ts'
import { anyKnownPredicate, type ErrorMatcher } from './error-matcher.ts'

/**
 * Whether a retry can help: soon (TRANSIENT), only after a while (EXTENDED), never (PERMANENT), or unknown (UNKNOWN).
 */
export type FailureKind = 'TRANSIENT' | 'EXTENDED' | 'PERMANENT' | 'UNKNOWN'

const isServiceUnavailable = (error: unknown): boolean =>
  readProperty(error, 'status') === 503 || readProperty(error, 'statusCode') === 503

/**
 * The errors whose kind is known without configuration. Waybill's own are named by class and by code: two copies of a
 * package have two classes.
 */
export const knownFailures: Readonly<Record<Exclude<FailureKind, 'UNKNOWN'>, readonly ErrorMatcher[]>> = {
  PERMANENT: [
    NonRetryableError,
    NonRetryableError.code,
    'NonRetryableError',
    'DeserializationError',
    'ParseError',
    'SchemaViolationError',
    'SchemaValidationError',
    'UnknownEventTypeError',
    'PayloadTooLargeError',
    'ArgumentError',
    'BusinessRuleViolationError',
    // Outputs that fit in no transaction. Matched by code, since the classes belong to another package.
    'WAYBILL_OUTPUTS_TOO_LARGE',
    'WAYBILL_OUTPUT_RECORD_TOO_LARGE',
    'WAYBILL_OUTPUT_UNACCEPTABLE',
    'WAYBILL_NOT_TRANSACTIONAL',
  ],
  EXTENDED: [
    CircuitOpenError,
    CircuitOpenError.code,
    'ServiceUnavailableError',
    'ServiceUnavailableException',
    isServiceUnavailable,
  ],
  TRANSIENT: [
    // Connections: Node's own codes, then those of its fetch.
    'ECONNRESET',
    'ECONNREFUSED',
    'ECONNABORTED',
    'EPIPE',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EAI_AGAIN',
    'UND_ERR_SOCKET',
    // Time-outs: sockets, fetch, and AbortSignal.timeout().
    'ETIMEDOUT',
    'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
    'TimeoutError',
    // Lost a race: object mappers, serialization failures and deadlocks of PostgreSQL and MySQL.
    'OptimisticLockError',
    'OptimisticLockVersionMismatchError',
    '40001',
    '40P01',
    'ER_LOCK_DEADLOCK',
    'ER_LOCK_WAIT_TIMEOUT',
  ],
}

const kindsOfOne = (['PERMANENT', 'EXTENDED', 'TRANSIENT'] as const).map((kind) => ({
  kind,
  matches: anyKnownPredicate(knownFailures[kind]),
}))

/**
 * The kind of anything thrown. Errors are asked from the outside in: code that wraps an error knows more than the error
 * it wraps.
 */
export function failureKindOf(thrown: unknown): FailureKind {
  return failureKindIn(knownChain(thrown))
}

/** {@link failureKindOf} for callers that already have the chain of causes. */
export function failureKindIn(chain: readonly KnownError[]): FailureKind {
  for (const error of chain) {
    const known = kindsOfOne.find(({ matches }) => matches(error))
    if (known !== undefined) return known.kind
  }
  return 'UNKNOWN'
}
