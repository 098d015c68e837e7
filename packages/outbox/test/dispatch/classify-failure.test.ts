import { ArgumentError, NonRetryableError } from '@waybill/core'
import { expect, test } from 'vitest'
import { errorWithType, splitError } from '../../src/api/failure-type.ts'
import { failureTypeOf } from '../../src/dispatch/classify-failure.ts'

const withCode = (code: string) => Object.assign(new Error(code), { code })

test.each([
  ['NETWORK', withCode('ECONNREFUSED')],
  ['NETWORK', new Error('wrapped', { cause: withCode('ECONNRESET') })],
  ['TIMEOUT', withCode('ETIMEDOUT')],
  ['TIMEOUT', new DOMException('late', 'TimeoutError')],
  ['TIMEOUT', new Error('socket', { cause: Object.assign(withCode('ECONNRESET'), { cause: withCode('ETIMEDOUT') }) })],
  ['VALIDATION', new NonRetryableError('no such product')],
  ['VALIDATION', new ArgumentError('no')],
  ['SYSTEM', new Error('out of memory')],
  ['SYSTEM', 'a text'],
  ['SYSTEM', undefined],
] as const)('S4-035 a failure is stored as %s: %s', (type, error) => {
  expect(failureTypeOf(error)).toBe(type)
})

test('S4-035 the type is part of the stored text, and split from it', () => {
  expect(errorWithType('Error: late', 'TIMEOUT')).toBe('[TIMEOUT] Error: late')
  expect(errorWithType('Waits for kafka', undefined)).toBe('Waits for kafka')
  expect(splitError('[TIMEOUT] Error:\nlate')).toEqual({ failureType: 'TIMEOUT', error: 'Error:\nlate' })
  expect(splitError('Error: [TIMEOUT] late')).toEqual({ failureType: null, error: 'Error: [TIMEOUT] late' })
  expect(splitError('[OTHER] late')).toEqual({ failureType: null, error: '[OTHER] late' })
})
