import { abortReason } from '@waybill/core/internal'
import { expect, test } from 'vitest'

test('an error given as the reason is the reason', () => {
  const reason = new RangeError('enough')
  expect(abortReason(AbortSignal.abort(reason))).toBe(reason)
})

test('an abort without a reason has the AbortError of the platform', () => {
  expect(abortReason(AbortSignal.abort()).name).toBe('AbortError')
})

test.each([
  ['a text', 'enough', 'enough'],
  ['null', null, 'null'],
  ['an object without a prototype', Object.create(null), '[Object: null prototype] {}'],
])('%s given as the reason becomes an AbortError that says it', (_, reason, text) => {
  const error = abortReason(AbortSignal.abort(reason))
  expect(error).toBeInstanceOf(Error)
  expect(error.name).toBe('AbortError')
  expect(error.message).toBe(text)
})
