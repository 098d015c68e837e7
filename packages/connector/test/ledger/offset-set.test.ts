import { ArgumentError } from '@waybill/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OffsetSet, widestOffsetSet } from '../../src/ledger/offset-set.ts'

describe('an offset set', () => {
  test('has the offsets it was made of, in ascending order, and no other', () => {
    const set = OffsetSet.of(100n, [109n, 101n, 117n, 101n])
    expect([...set]).toEqual([101n, 109n, 117n])
    expect([set.size, set.span]).toEqual([3, 17])
    expect([99n, 100n, 101n, 102n, 117n, 118n].map((offset) => set.has(offset))).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
    ])
  })

  test('is empty text when it is empty', () => {
    const set = OffsetSet.empty(7n)
    expect([set.encode(), set.size, set.span, [...set]]).toEqual(['', 0, 0, []])
  })

  test('is the same set after a round trip as text, at every position', () => {
    const offsets = fc.uniqueArray(fc.integer({ min: 1, max: widestOffsetSet }), { maxLength: 60 })
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 62n }), offsets, (position, distances) => {
        const set = OffsetSet.of(
          position,
          distances.map((distance) => position + BigInt(distance)),
        )
        const read = OffsetSet.decode(position, set.encode())
        expect(read && [...read]).toEqual([...set])
        expect([read?.size, read?.span]).toEqual([distances.length, Math.max(0, ...distances)])
      }),
    )
  })

  test('takes 667 characters for 4,000 offsets', () => {
    const all = Array.from({ length: 4_000 }, (_, index) => BigInt(index + 1))
    expect(OffsetSet.of(0n, all).encode()).toHaveLength(667)
  })

  test.for(['=', 'AA==', 'A', '+/', ' ', 'ä', '_w'.repeat(20_000)])('is not read from %j', (text) => {
    expect(OffsetSet.decode(0n, text)).toBeUndefined()
  })

  test('holds no offset at or below its position', () => {
    expect(() => OffsetSet.of(5n, [5n])).toThrow(ArgumentError)
    expect(() => OffsetSet.of(5n, [4n, 6n])).toThrow(ArgumentError)
  })

  test('reaches no farther than fits into a commit', () => {
    const widest = BigInt(widestOffsetSet)
    expect(OffsetSet.of(0n, [widest]).span).toBe(widestOffsetSet)
    expect(() => OffsetSet.of(0n, [widest + 1n])).toThrow(/spans 16385 offsets: at most 16384/)
    expect(() => new OffsetSet(0n, new Uint8Array(widestOffsetSet / 8 + 1).fill(1))).toThrow(ArgumentError)
  })
})
