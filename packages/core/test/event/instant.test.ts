import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { earliestInstantMs, formatInstant, latestInstantMs, parseInstant } from '../../src/event/instant.ts'

describe('an instant', () => {
  test('is the same after writing and reading it', () => {
    fc.assert(
      fc.property(fc.integer({ min: earliestInstantMs, max: latestInstantMs }), (ms) => {
        expect(parseInstant(formatInstant(ms))).toBe(ms)
      }),
    )
  })

  test.each([
    ['2026-01-31T14:30:00.000Z', Date.UTC(2026, 0, 31, 14, 30)],
    ['2026-01-31T14:30:00Z', Date.UTC(2026, 0, 31, 14, 30)],
    ['2026-01-31t14:30:00z', Date.UTC(2026, 0, 31, 14, 30)],
    ['2026-01-31T16:30:00+02:00', Date.UTC(2026, 0, 31, 14, 30)],
    ['2026-01-31T14:30:00.123456Z', Date.UTC(2026, 0, 31, 14, 30, 0, 123)],
  ])('is read from %s', (text, ms) => {
    expect(parseInstant(text)).toBe(ms)
  })

  test.each([
    '',
    'now',
    '2026-01-31',
    '2026-01-31T14:30:00',
    '2026-01-31 14:30:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '+012026-01-01T00:00:00Z',
    '2026-01-31T14:30:00Z ',
    '1769869800000',
  ])('is not %j', (text) => {
    expect(parseInstant(text)).toBeUndefined()
  })
})
