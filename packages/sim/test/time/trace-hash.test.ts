import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TraceHash } from '../../src/time/trace-hash.ts'

type Entry = number | string

function hashOf(entries: readonly Entry[]): string {
  const hash = new TraceHash()
  for (const entry of entries) {
    if (typeof entry === 'number') hash.addNumber(entry)
    else hash.addText(entry)
  }
  return hash.value
}

const entries = fc.array(fc.oneof(fc.double({ noNaN: true }), fc.string()))

describe('TraceHash', () => {
  test('is the same for the same history', () => {
    fc.assert(
      fc.property(entries, (history) => {
        expect(hashOf(history)).toBe(hashOf([...history]))
        expect(hashOf(history)).toMatch(/^[0-9a-f]{14}$/)
      }),
    )
  })

  test('changes with any entry and with their order', () => {
    fc.assert(
      fc.property(
        entries,
        entries,
        fc.double({ noNaN: true }),
        fc.double({ noNaN: true }),
        (before, after, one, other) => {
          fc.pre(!Object.is(one, other))
          expect(hashOf([...before, one, ...after])).not.toBe(hashOf([...before, other, ...after]))
          expect(hashOf([...before, one, other])).not.toBe(hashOf([...before, other, one]))
          expect(hashOf([...before, String(one)])).not.toBe(hashOf([...before, String(one), '']))
        },
      ),
    )
  })

  test('tells apart how texts were cut', () => {
    expect(hashOf(['ab', 'c'])).not.toBe(hashOf(['a', 'bc']))
  })

  test('does not collide in a hundred thousand histories', () => {
    const hash = new TraceHash()
    const seen = new Set<string>()
    for (let count = 0; count < 100_000; count++) {
      hash.addNumber(count % 7)
      seen.add(hash.value)
    }
    expect(seen.size).toBe(100_000)
  })
})
