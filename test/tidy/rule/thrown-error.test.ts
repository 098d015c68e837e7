import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { thrownErrorRule } from './thrown-error.ts'

function inPackage(text: string, path = 'packages/core/src/a.ts'): string[] {
  return findingsIn(thrownErrorRule, treeOf({ [path]: text }))
}

describe('an error without a code is found', () => {
  test.each([
    "throw new Error('x')",
    "throw Error('x')",
    "reject(new TypeError('x'))",
    "return new RangeError('x')",
    'throw new AggregateError(errors)',
    'class Mine extends Error {}',
  ])('in %j', (text) => {
    expect(inPackage(text)).toEqual([expect.stringContaining('use a class that extends WaybillError')])
  })
})

describe('everything else is left alone', () => {
  test.each([
    "throw new ArgumentError('x')",
    'class Mine extends WaybillError {}',
    'thrown instanceof Error',
    'Error.captureStackTrace(this)',
    "new DOMException('x', 'AbortError')",
    "// throw new Error('x')",
  ])('as in %j', (text) => {
    expect(inPackage(text)).toEqual([])
  })

  test('and so is a test', () => {
    expect(inPackage("throw new Error('x')", 'packages/core/test/a.test.ts')).toEqual([])
  })

  test('and so is the one class that extends Error', () => {
    expect(inPackage('abstract class WaybillError extends Error {}', 'packages/core/src/errors.ts')).toEqual([])
  })
})
