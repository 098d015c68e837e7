import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BloomFilter } from '../../src/idempotency/bloom-filter.ts'

describe('a bloom filter', () => {
  test('never denies a key that it holds, however full it is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.string({ unit: 'binary' })), (expected, texts) => {
        const filter = new BloomFilter(expected, 0.01)
        for (const text of texts) filter.add(text)
        expect(texts.every((text) => filter.mayHave(text))).toBe(true)
      }),
    )
  })

  test.each([0.1, 0.01, 0.001])('keeps the configured false positive rate of %d', (rate) => {
    const count = 50_000
    const filter = new BloomFilter(count, rate)
    for (let index = 0; index < count; index++) filter.add(`8:shipping:default/orders-3-${index}@1700000000000`)
    let wrong = 0
    for (let index = count; index < 2 * count; index++)
      if (filter.mayHave(`8:shipping:default/orders-3-${index}@1700000000000`)) wrong++
    expect(wrong / count).toBeLessThan(1.5 * rate)
  })

  test('holds nothing at first', () => {
    const filter = new BloomFilter(1_000, 0.01)
    expect(filter.mayHave('anything')).toBe(false)
  })
})
