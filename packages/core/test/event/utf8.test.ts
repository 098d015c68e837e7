import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8Text } from '../../src/event/utf8.ts'

describe('utf8Text', () => {
  test('reads every text back, also one with a replacement character of its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(utf8Text(Buffer.from(text))).toBe(text)
        expect(utf8Text(new Uint8Array(Buffer.from(text)))).toBe(text)
      }),
      { examples: [['\uFFFD'], ['\uFEFFa'], ['']] },
    )
  })

  test('reads only the part that a view shows', () => {
    expect(utf8Text(new Uint8Array(Buffer.from('abcd')).subarray(1, 3))).toBe('bc')
  })

  test('gives either the text of the very same bytes or nothing', () => {
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = utf8Text(bytes)
        if (text === undefined) expect(() => strict.decode(bytes)).toThrow(TypeError)
        else expect(text).toBe(strict.decode(bytes))
      }),
      { numRuns: 1_000 },
    )
  })
})
