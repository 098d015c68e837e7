import { NonRetryableError } from '@waybill/core'
import { hostile } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { anyErrorPredicate, type ErrorMatcher, matcherName } from '../../src/failure/error-matcher.ts'

class BaseError extends Error {}
class DerivedError extends BaseError {}
class NotAnError {
  readonly isError = false
}
abstract class AbstractError extends Error {}
class ConcreteError extends AbstractError {}

function OldError(this: Error): void {}
OldError.prototype = Object.create(Error.prototype) as object

function isSeven(error: unknown): boolean {
  return error === 7
}

describe('an error matcher', () => {
  test.each<[string, ErrorMatcher, unknown, boolean]>([
    ['a name', 'DerivedError', new DerivedError(), true],
    ['the name of a base class', 'BaseError', new DerivedError(), true],
    ['the name of a derived class', 'DerivedError', new BaseError(), false],
    ['a name set by hand', 'Custom', Object.assign(new Error('x'), { name: 'Custom' }), true],
    ['a code', 'ECONNRESET', Object.assign(new Error('x'), { code: 'ECONNRESET' }), true],
    ['a part of a name', 'Derived', new DerivedError(), false],
    ['a text against a thrown text', 'x', 'x', false],
    ['a class', BaseError, new BaseError(), true],
    ['a base class', BaseError, new DerivedError(), true],
    ['a derived class', DerivedError, new BaseError(), false],
    ['an abstract class', AbstractError, new ConcreteError(), true],
    ['a class that is no error', NotAnError, new NotAnError(), true],
    ['a built-in class', TypeError, new TypeError('x'), true],
    ['Error against a thrown object', Error, { name: 'Error' }, false],
    ['DOMException', DOMException, new DOMException('x', 'TimeoutError'), true],
    ['a constructor function', OldError as unknown as ErrorMatcher, Object.create(OldError.prototype), true],
    ['an arrow function', (error) => error === 7, 7, true],
    ['a function with a prototype', isSeven, 8, false],
    ['a function with a prototype', isSeven, 7, true],
  ])('given as %s', (_, matcher, thrown, expected) => {
    expect(anyErrorPredicate([matcher])(thrown)).toBe(expected)
  })

  test('has not matched when its predicate throws', () => {
    const isNotFound = anyErrorPredicate([
      (error) => (error as { response: { status: number } }).response.status === 404,
    ])
    expect(isNotFound(new Error('no response'))).toBe(false)
    expect(isNotFound({ response: { status: 404 } })).toBe(true)
  })

  test('has not matched when its predicate answers anything but true, such as a promise', () => {
    const matcher = (async () => true) as unknown as ErrorMatcher
    expect(anyErrorPredicate([matcher])(new Error('x'))).toBe(false)
  })

  test.each(Object.entries(hostile))('never throws, whatever was thrown: %s', (_, make) => {
    for (const matcher of ['Nothing', NonRetryableError, NotAnError])
      expect(anyErrorPredicate([matcher])(make())).toBe(false)
  })

  test('is called by its text or its class, and not at all when it is a predicate', () => {
    expect([matcherName('A'), matcherName(BaseError), matcherName(() => true)]).toEqual(['A', 'BaseError', undefined])
  })
})
