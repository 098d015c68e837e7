import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCursor, writeCursor } from '../../src/json/cursor.ts'
import { parseAge, parseInstant } from '../../src/json/instant.ts'
import { writeJson } from '../../src/json/write-json.ts'
import { int64 } from '../../src/schema/value-schemas.ts'

test('offsets of 63 bits go through the writer and the reader unchanged', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.integer({ min: 0, max: 3 }), (offset, depth) => {
      let value: unknown = { offset }
      for (let at = 0; at < depth; at++) value = { inner: [value], by: new Map([['a', offset]]) }
      let read = JSON.parse(writeJson(value)) as { inner?: unknown[]; offset?: string }
      for (let at = 0; at < depth; at++) read = read.inner?.[0] as typeof read
      expect(read.offset).toBe(offset.toString())
      expect(int64.read(read.offset, 'offset', (_path, problem) => expect.fail(problem))).toBe(offset)
    }),
  )
})

test('an offset is refused as a number, with a sign, a fraction, or beyond 63 bits', () => {
  for (const given of [1, '-1', '+1', '1.0', '1e3', ' 1', '', '9223372036854775808', null, {}]) {
    let problem = ''
    int64.read(given, 'offset', (_path, said) => {
      problem = said
    })
    expect(problem).toContain('decimal digits')
  }
})

test('an instant is RFC 3339 or epoch milliseconds, and nothing else', () => {
  expect(parseInstant('1970-01-01T00:00:01Z')).toBe(1_000)
  expect(parseInstant('1970-01-01T01:00:01.5+01:00')).toBe(1_500)
  expect(parseInstant('1763272861033')).toBe(1_763_272_861_033)
  expect(['2026-11-16', '2026-13-40T00:00:00Z', 'yesterday', '-5', '1e3', ''].map(parseInstant)).toEqual(
    Array.from({ length: 6 }),
  )
})

test('an age is an ISO 8601 duration of weeks to seconds', () => {
  expect(['P7D', 'PT12H', 'P1DT1M', 'PT0.5S', 'P2W'].map(parseAge)).toEqual([
    604_800_000, 43_200_000, 86_460_000, 500, 1_209_600_000,
  ])
  expect(['7D', 'P', 'PT', 'P1M', 'P1DT', '604800000', 'P-1D'].map(parseAge)).toEqual(Array.from({ length: 7 }))
})

test('a cursor is read back with its own filter only', () => {
  const cursor = writeCursor('a/b', { state: 'OPEN', offset: 3n })
  expect(readCursor(cursor, { state: 'OPEN', offset: 3n })).toBe('a/b')
  expect(() => readCursor(cursor, { state: 'CLOSED' })).toThrow('another filter')
  for (const wrong of ['', 'x', 'eyJwIjoxfQ', '%%%'])
    expect(() => readCursor(wrong, {})).toThrow('not written by this API')
})
