import { createExceptionClassifier, OptionsError } from '@waybill/core'
import { javaExceptions, resolveExceptionOptions, untranslatedJava } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const withName = (name: string): Error => Object.assign(new Error('x'), { name })
const withCode = (code: string): Error => Object.assign(new Error('x'), { code })
const routingOf = (retryableExceptions: string[], error: unknown): string =>
  createExceptionClassifier({ retryableExceptions })(error, 0).routing

function problemOf(retryableExceptions: string[]): string | undefined {
  try {
    resolveExceptionOptions({ retryableExceptions })
    return undefined
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    return error.violations.map(({ path, problem }) => `${path} ${problem}`).join('\n')
  }
}

describe('C-87 the name of a Java class', () => {
  test.each([
    ['java.net.SocketTimeoutException', new DOMException('late', 'TimeoutError')],
    ['java.net.SocketTimeoutException', withCode('ETIMEDOUT')],
    ['java.util.concurrent.TimeoutException', withName('HandlerTimeoutError')],
    ['java.net.ConnectException', withCode('ECONNREFUSED')],
    ['java.io.IOException', new TypeError('fetch failed', { cause: withCode('UND_ERR_SOCKET') })],
    ['org.springframework.dao.OptimisticLockingFailureException', withCode('40001')],
    ['org.springframework.dao.OptimisticLockingFailureException', withName('OptimisticLockingFailureError')],
    ['org.springframework.dao.TransientDataAccessException', withCode('40P01')],
    ['org.springframework.dao.TransientDataAccessException', withCode('ECONNRESET')],
    ['javax.ws.rs.ServiceUnavailableException', Object.assign(new Error('x'), { statusCode: 503 })],
    ['io.github.resilience4j.circuitbreaker.CallNotPermittedException', withCode('WAYBILL_CIRCUIT_OPEN')],
    ['com.fasterxml.jackson.core.JsonParseException', new SyntaxError('Unexpected token')],
    ['com.enterprise.schema.SchemaValidationException', withName('SchemaViolationError')],
    ['com.enterprise.schema.SchemaValidationException', withName('SchemaValidationError')],
    ['com.enterprise.schema.SchemaValidationException', withName('SchemaValidationException')],
    ['com.enterprise.domain.BusinessRuleViolationException', withName('BusinessRuleViolationError')],
    ['java.lang.IllegalArgumentException', withName('ArgumentError')],
    ['java.lang.NullPointerException', new TypeError('x is undefined')],
    ['org.springframework.dao.DuplicateKeyException', withCode('23505')],
    ['java.lang.RuntimeException', new RangeError('any')],
    ['java.net.SocketTimeoutException', withName('java.net.SocketTimeoutException')],
  ])('%s matches an error that reports the same: %s', (name, error) => {
    expect(routingOf([name], error)).toBe('NEXT_TIER')
    expect(routingOf([name], new Error('outer', { cause: error }))).toBe('NEXT_TIER')
    expect(createExceptionClassifier({ nonRetryableExceptions: [name] })(error, 0).routing).toBe('DEAD_LETTER')
    expect(createExceptionClassifier({ skipToTierMapping: { [name]: 3 } })(error, 0)).toMatchObject({ targetTier: 3 })
  })

  test.each([
    ['java.net.SocketTimeoutException', new Error('any')],
    ['java.net.SocketTimeoutException', withCode('ECONNREFUSED')],
    ['java.net.ConnectException', withCode('ETIMEDOUT')],
    ['java.lang.IllegalArgumentException', new TypeError('x is not a function')],
  ])('%s does not match others: %s', (name, error) => {
    expect(routingOf([name], error)).toBe('DEAD_LETTER')
  })

  test('is translated only with its package: alone it may be a class of the program', () => {
    expect(routingOf(['SocketTimeoutException'], withCode('ETIMEDOUT'))).toBe('DEAD_LETTER')
    expect(routingOf(['SocketTimeoutException'], withName('SocketTimeoutException'))).toBe('NEXT_TIER')
    expect(untranslatedJava('SocketTimeoutException')).toBeUndefined()
  })

  test('is in one row of the table', () => {
    const names = javaExceptions.flatMap((row) => row.names)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
  })
})

describe('C-87 a retryable list', () => {
  test('in which nothing can match is refused, with what to write instead', () => {
    expect(problemOf(['com.acme.FlakyException'])).toBe(
      'retryableExceptions matches no error, so that every failure would become a dead letter after one call: ' +
        'com.acme.FlakyException is a Java class without a translation; write the name, the code or the class of an ' +
        'error, such as FlakyError, TimeoutError or ECONNRESET',
    )
    expect(problemOf(['com.acme.FlakyException', 'org.acme.Busy$Once'])).toContain(
      'com.acme.FlakyException, org.acme.Busy$Once are Java classes without a translation',
    )
  })

  test('is taken when one entry can match', () => {
    expect(problemOf(['com.acme.FlakyException', 'ECONNRESET'])).toBeUndefined()
    expect(problemOf(['com.acme.FlakyException', 'java.net.SocketException'])).toBeUndefined()
    expect(problemOf(['Flaky.Error'])).toBeUndefined()
  })
})
