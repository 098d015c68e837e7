import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutText, exceptionClassOf, exceptionMessageOf, exceptionStackOf } from '../../src/records/failure-text.ts'

class PaymentRefusedError extends Error {}

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no')
    },
  },
)

describe('the class of what was thrown', () => {
  test.each([
    ['its name', new TypeError('x'), 'TypeError'],
    ['its class where it set no name', new PaymentRefusedError('x'), 'PaymentRefusedError'],
    ['its name where it set one', Object.assign(new Error('x'), { name: 'Refused' }), 'Refused'],
    ['what it is, of a text', 'a text', 'String'],
    ['what it is, of nothing', undefined, 'undefined'],
    ['what it is, of null', null, 'null'],
    ['what it is, of an object without a class', Object.create(null), 'object'],
    ['what it is, of a proxy that throws', hostile, 'object'],
  ])('is %s', (_, thrown, expected) => {
    expect(exceptionClassOf(thrown)).toBe(expected)
  })
})

describe('what is written of an error', () => {
  test('has no control characters: they split log lines and steer terminals', () => {
    const error = new Error('a\r\nb\u001b[31mc\u0000d\u2028e')
    expect(exceptionMessageOf(error)).toBe('a b [31mc d e')
    error.stack = 'Error: a\r\n    at \u001b[2Jb'
    expect(exceptionStackOf(error)).toBe('Error: a \n    at  [2Jb')
  })

  test('is text to other readers too, whatever half characters it has', () => {
    expect(exceptionMessageOf(new Error('half \ud83d'))).toBe('half \ufffd')
  })

  test('keeps frames of the stack however long the message is', () => {
    const error = new Error('m'.repeat(10_000_000))
    error.stack = `Error: ${error.message}\n    at handle (orders.ts:7:1)`
    expect(exceptionMessageOf(error)).toHaveLength(1_024)
    expect(exceptionStackOf(error)).toMatch(/^Error: m+\n {4}at handle \(orders\.ts:7:1\)$/)
  })

  test('has a message that reads like a pattern of replacement as it is', () => {
    const error = new Error('line one\ncosts $& or $1 or $`')
    error.stack = `Error: ${error.message}\n    at handle (orders.ts:7:1)`
    expect(exceptionStackOf(error)).toBe('Error: line one costs $& or $1 or $`\n    at handle (orders.ts:7:1)')
  })

  test('has the frames of an error without a message', () => {
    expect(exceptionStackOf(Object.assign(new Error(''), { stack: 'Error\n    at handle (orders.ts:7:1)' }))).toBe(
      'Error\n    at handle (orders.ts:7:1)',
    )
  })

  test('describes what is no error, and has no stack then', () => {
    expect([exceptionMessageOf('a text'), exceptionMessageOf(undefined), exceptionMessageOf(new Error(''))]).toEqual([
      'a text',
      'undefined',
      'Error',
    ])
    expect(exceptionMessageOf(hostile)).not.toBe('')
    expect([exceptionStackOf('a text'), exceptionStackOf(hostile)]).toEqual([undefined, undefined])
  })

  test('has at most 1 KB of message and 2 KB of stack, of anything that can be thrown', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: 'binary', maxLength: 5_000 }), (thrown, text) => {
        const error = Object.assign(new Error(text), { stack: text })
        for (const one of [thrown, error]) {
          expect(Buffer.byteLength(exceptionMessageOf(one))).toBeLessThanOrEqual(1_024)
          expect(Buffer.byteLength(exceptionStackOf(one) ?? '')).toBeLessThanOrEqual(2_048)
          expect(Buffer.byteLength(exceptionClassOf(one))).toBeLessThanOrEqual(256)
        }
      }),
    )
  })
})

describe('a long text of an error', () => {
  test.each([
    ['in plain characters', 'x'.repeat(9_000)],
    ['with control characters', `\u0007${'x'.repeat(9_000)}`],
  ])('is cut at its bound and not before: %s', (_, text) => {
    const error = Object.assign(new Error(text), { name: text, stack: `${text}\n    at here` })
    const sizes = [exceptionClassOf(error), exceptionMessageOf(error), exceptionStackOf(error) ?? '']
    expect(sizes.map((one) => Buffer.byteLength(one))).toEqual([256, 1_024, expect.any(Number)])
    const frames = Object.assign(new Error('short'), { stack: `Error: short\n${text}` })
    expect(Buffer.byteLength(exceptionStackOf(frames) ?? '')).toBe(2_048)
  })
})

describe('a cut text', () => {
  test('is the longest beginning of whole characters that fits', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(
      fc.property(text, fc.nat({ max: 60 }), (whole, maxBytes) => {
        let longest = ''
        for (const character of whole) {
          if (Buffer.byteLength(longest + character) > maxBytes) break
          longest += character
        }
        expect(cutText(whole, maxBytes)).toBe(longest)
      }),
    )
  })
})
