import { once } from 'node:events'
import { connect } from 'node:net'
import { CircuitOpenError, NonRetryableError, StateError, UnavailableError } from '@waybill/core'
import { type FailureKind, failureKindOf } from '@waybill/core/internal'
import { hostile } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'

const withCode = (code: string): Error => Object.assign(new Error('x'), { code })
const withName = (name: string): Error => Object.assign(new Error('x'), { name })

class NegativeTotalError extends NonRetryableError {
  override readonly code: string = 'SHOP_NEGATIVE_TOTAL'
}

describe('the kind of a failure without configuration', () => {
  test.each<[FailureKind, string, unknown]>([
    ['TRANSIENT', 'a connection that was reset', withCode('ECONNRESET')],
    ['TRANSIENT', 'a connection that was refused', withCode('ECONNREFUSED')],
    ['TRANSIENT', 'a connection that timed out', withCode('ETIMEDOUT')],
    ['TRANSIENT', 'a broken pipe', withCode('EPIPE')],
    ['TRANSIENT', 'a name server that does not answer', withCode('EAI_AGAIN')],
    ['TRANSIENT', 'a socket closed below fetch', new TypeError('fetch failed', { cause: withCode('UND_ERR_SOCKET') })],
    ['TRANSIENT', 'a time-out of AbortSignal', new DOMException('too late', 'TimeoutError')],
    ['TRANSIENT', 'an optimistic lock', withName('OptimisticLockError')],
    ['TRANSIENT', 'a serialization failure of PostgreSQL', withCode('40001')],
    ['TRANSIENT', 'a deadlock of MySQL', withCode('ER_LOCK_DEADLOCK')],
    [
      'TRANSIENT',
      'an aggregate of refused connections',
      new AggregateError([new Error('v6'), withCode('ECONNREFUSED')]),
    ],
    ['EXTENDED', 'an open breaker', new CircuitOpenError('orders', 'OPEN')],
    ['EXTENDED', 'an open breaker of another copy of the package', withCode('WAYBILL_CIRCUIT_OPEN')],
    ['EXTENDED', 'a destination that is unavailable', new UnavailableError('not now')],
    ['EXTENDED', 'a service that is unavailable', withName('ServiceUnavailableError')],
    ['EXTENDED', 'an answer 503', Object.assign(new Error('x'), { status: 503 })],
    ['EXTENDED', 'a response 503, configured otherwise', Object.assign(new Error('x'), { statusCode: 503 })],
    ['PERMANENT', 'NonRetryableError', new NonRetryableError('no')],
    ['PERMANENT', 'NonRetryableError of another copy of the package', withCode('WAYBILL_NON_RETRYABLE')],
    ['PERMANENT', 'a subclass of NonRetryableError with a code of its own', new NegativeTotalError('no')],
    ['PERMANENT', 'a record that cannot be deserialized', withName('DeserializationError')],
    ['PERMANENT', 'a record that cannot be parsed', withName('ParseError')],
    ['PERMANENT', 'a record that violates its schema', withName('SchemaViolationError')],
    ['PERMANENT', 'an unknown event', withName('UnknownEventTypeError')],
    ['PERMANENT', 'a business rule', withName('BusinessRuleViolationError')],
    ['PERMANENT', 'more outputs than a transaction holds', withCode('WAYBILL_OUTPUTS_TOO_LARGE')],
    ['PERMANENT', 'an output that is larger than its binding allows', withCode('WAYBILL_OUTPUT_RECORD_TOO_LARGE')],
    ['PERMANENT', 'an output that its topic will never take', withCode('WAYBILL_OUTPUT_UNACCEPTABLE')],
    ['PERMANENT', 'an output of a binding that has no transactions', withCode('WAYBILL_NOT_TRANSACTIONAL')],
    [
      'UNKNOWN',
      'an output that its topic may accept once an operator has fixed it',
      withCode('WAYBILL_OUTPUT_REFUSED'),
    ],
    ['UNKNOWN', 'a call that the state does not allow now', new StateError('not now')],
    ['UNKNOWN', 'a plain error', new Error('x')],
    ['UNKNOWN', 'a bug', new TypeError('x is not a function')],
    ['UNKNOWN', 'an answer 500', Object.assign(new Error('x'), { status: 500 })],
    ['UNKNOWN', 'a code in the message only', new Error('connect ECONNREFUSED 127.0.0.1:5432')],
  ])('is %s for %s', (kind, _, thrown) => {
    expect(failureKindOf(thrown)).toBe(kind)
  })

  test('is found along the cause chain', () => {
    const thrown = new Error('handler', { cause: new Error('repository', { cause: withCode('ECONNRESET') }) })
    expect(failureKindOf(thrown)).toBe('TRANSIENT')
  })

  test('is that of the outermost error that has one: who wraps an error knows more than the error', () => {
    const reset = withCode('ECONNRESET')
    expect(failureKindOf(new NonRetryableError('gave up', { cause: reset }))).toBe('PERMANENT')
    const unreadable = Object.assign(new Error('down', { cause: withName('ParseError') }), { status: 503 })
    expect(failureKindOf(unreadable)).toBe('EXTENDED')
  })

  test('is found in the errors that Node itself makes', async () => {
    const refused: unknown = await once(connect({ host: '127.0.0.1', port: 1 }), 'connect').catch(
      (error: unknown) => error,
    )
    expect(refused).toHaveProperty('code', 'ECONNREFUSED')
    expect(failureKindOf(refused)).toBe('TRANSIENT')
  })

  test.each(Object.entries(hostile))('is UNKNOWN, without throwing, for %s', (_, make) => {
    expect(failureKindOf(make())).toBe('UNKNOWN')
  })
})
