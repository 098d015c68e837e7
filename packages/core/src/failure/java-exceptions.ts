/**
 * The errors that class names of Java mean in a retry list, so that a configuration written for the JVM keeps its
 * meaning. Only names with a package are translated: `ValidationException` alone may be a class of the program.
 */

import { errorGroups } from './error-groups.ts'
import type { ErrorMatcher } from './error-matcher.ts'

/** Java classes and the errors here that report the same. */
export interface JavaExceptions {
  /** The failure that they report, as a noun phrase. */
  readonly meaning: string
  /** Class names without their packages. */
  readonly names: readonly string[]
  /** Beside these, a class matches errors with its own name, and with `Error` in place of `Exception`. */
  readonly matches: readonly ErrorMatcher[]
}

const { connection, timeout, conflict, unavailable, circuitOpen, decoding, schema, argument, businessRule } =
  errorGroups
const timeouts = [...timeout, 'HandlerTimeoutError', '57014', 'ER_QUERY_TIMEOUT']
const connections = [...connection, 'ENOTFOUND', '08000', '08001', '08003', '08004', '08006', '57P01']
const databaseConnections = [...connections, 'PROTOCOL_CONNECTION_LOST']

/** All translated classes. */
export const javaExceptions: readonly JavaExceptions[] = Object.freeze([
  {
    meaning: 'timeouts',
    names: [
      'SocketTimeoutException',
      'ConnectTimeoutException',
      'ConnectionTimeoutException',
      'ReadTimeoutException',
      'HttpTimeoutException',
      'HttpConnectTimeoutException',
      'TimeoutException',
      'QueryTimeoutException',
      'SQLTimeoutException',
    ],
    matches: timeouts,
  },
  {
    meaning: 'connection failures',
    names: [
      'SocketException',
      'ConnectException',
      'NoRouteToHostException',
      'UnknownHostException',
      'CannotGetJdbcConnectionException',
      'DataAccessResourceFailureException',
      'RecoverableDataAccessException',
      'SQLRecoverableException',
    ],
    matches: databaseConnections,
  },
  {
    meaning: 'connection failures and timeouts',
    names: ['IOException', 'UncheckedIOException', 'ResourceAccessException', 'SQLTransientConnectionException'],
    matches: [...databaseConnections, ...timeouts],
  },
  {
    meaning: 'lost races: optimistic locks, serialization failures, deadlocks',
    names: [
      'OptimisticLockException',
      'OptimisticLockingFailureException',
      'ObjectOptimisticLockingFailureException',
      'StaleObjectStateException',
      'ConcurrencyFailureException',
      'PessimisticLockException',
      'PessimisticLockingFailureException',
      'LockTimeoutException',
      'CannotAcquireLockException',
      'CannotSerializeTransactionException',
      'DeadlockLoserDataAccessException',
      'SQLTransactionRollbackException',
    ],
    matches: conflict,
  },
  {
    meaning: 'transient failures of a database: connection failures, timeouts, lost races',
    names: ['TransientDataAccessException', 'TransientDataAccessResourceException', 'SQLTransientException'],
    matches: [...databaseConnections, ...timeouts, ...conflict],
  },
  { meaning: 'an unavailable service', names: ['ServiceUnavailableException'], matches: unavailable },
  {
    meaning: 'an open circuit breaker',
    names: ['CircuitBreakerOpenException', 'CallNotPermittedException'],
    matches: circuitOpen,
  },
  {
    meaning: 'bytes that cannot be decoded',
    names: [
      'DeserializationException',
      'SerializationException',
      'JsonParseException',
      'JsonMappingException',
      'JsonProcessingException',
      'InvalidFormatException',
      'MismatchedInputException',
      'MessageConversionException',
    ],
    matches: [...decoding, 'SyntaxError'],
  },
  {
    meaning: 'a violated schema',
    names: [
      'SchemaValidationException',
      'ConstraintViolationException',
      'MethodArgumentNotValidException',
      'ValidationException',
    ],
    matches: [...schema, 'ValidationError', 'ZodError', 'ValiError'],
  },
  {
    meaning: 'illegal arguments',
    names: ['IllegalArgumentException', 'NumberFormatException'],
    matches: [...argument, 'RangeError', 'ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_VALUE', 'ERR_OUT_OF_RANGE'],
  },
  {
    meaning: 'missing or wrong objects',
    names: ['NullPointerException', 'ClassCastException'],
    matches: ['TypeError'],
  },
  { meaning: 'a call that the state does not allow', names: ['IllegalStateException'], matches: ['StateError'] },
  { meaning: 'a violated business rule', names: ['BusinessRuleViolationException'], matches: businessRule },
  {
    meaning: 'a violated constraint of a database',
    names: ['DataIntegrityViolationException', 'DuplicateKeyException', 'SQLIntegrityConstraintViolationException'],
    matches: [
      '23000',
      '23502',
      '23503',
      '23505',
      '23514',
      'ER_DUP_ENTRY',
      'ER_BAD_NULL_ERROR',
      'ER_NO_REFERENCED_ROW_2',
    ],
  },
  { meaning: 'every error', names: ['Exception', 'RuntimeException', 'Throwable'], matches: ['Error'] },
])

const matchesByName = new Map(javaExceptions.flatMap(({ names, matches }) => names.map((name) => [name, matches])))

/** `java.net.SocketTimeoutException`: lowercase packages, then a class. */
const javaClass = /^(?:[a-z_][\w$]*\.){2,}([A-Z][\w$]*)$/

/** Returns the matcher, and for a Java class what it means here. */
export function translateJava(matcher: ErrorMatcher): readonly ErrorMatcher[] {
  const name = javaNameOf(matcher)
  const matches = name === undefined ? undefined : matchesByName.get(name)
  return name === undefined || matches === undefined ? [matcher] : [matcher, name, errorNameOf(name), ...matches]
}

/** Returns the class name of an untranslated Java class without its package; undefined for any other matcher. */
export function untranslatedJava(matcher: ErrorMatcher): string | undefined {
  const name = javaNameOf(matcher)
  return name === undefined || matchesByName.has(name) ? undefined : name
}

/** `FlakyError` for `FlakyException`. */
export function errorNameOf(javaName: string): string {
  return javaName.replace(/Exception$/, 'Error')
}

function javaNameOf(matcher: ErrorMatcher): string | undefined {
  return typeof matcher === 'string' ? javaClass.exec(matcher)?.[1] : undefined
}
