import { createPlaceName, isStalePlace, placeCreatedAt } from '@waybill/test-support'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const hourMs = 60 * 60 * 1000
/** From 2020 to 2080: the times at which this code can run. */
const times = fc.integer({ min: Date.UTC(2020), max: Date.UTC(2080) })

describe('the name of a place', () => {
  test('tells when it was made, also at the beginning of a longer name', () => {
    fc.assert(
      fc.property(times, fc.constantFrom('', '.orders', ':key', '.retry-1'), (now, rest) => {
        expect(placeCreatedAt(createPlaceName(now) + rest)).toBe(now)
      }),
    )
  })

  test('is legal as a schema, a database, a topic and a key', () => {
    fc.assert(
      fc.property(times, (now) => {
        expect(createPlaceName(now)).toMatch(/^[a-z][a-z0-9_]{0,40}$/)
      }),
    )
  })

  test('is never the same twice', () => {
    const names = Array.from({ length: 1_000 }, () => createPlaceName(Date.UTC(2026)))
    expect(new Set(names).size).toBe(1_000)
  })

  test('is stale an hour after it was made and not before', () => {
    const now = Date.UTC(2026)
    const name = createPlaceName(now)
    expect(isStalePlace(name, now)).toBe(false)
    expect(isStalePlace(name, now + hourMs)).toBe(false)
    expect(isStalePlace(name, now + hourMs + 1)).toBe(true)
  })

  test.each(['public', 'waybill_test', 'waybill_test_orders', 'orders.events', 'waybill_test_zzzzzzzz_notours0'])(
    'is not %s, which is never swept',
    (name) => {
      expect(placeCreatedAt(name)).toBeUndefined()
      expect(isStalePlace(name, Number.MAX_SAFE_INTEGER)).toBe(false)
    },
  )
})
