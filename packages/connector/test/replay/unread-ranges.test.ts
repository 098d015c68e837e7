import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rangesOf, UnreadRanges } from '../../src/replay/unread-ranges.ts'

const at = { topic: 'orders.DLT', partition: 0 }
const range = (from: number, until: number, partition = 0) => ({
  topic: at.topic,
  partition,
  from: BigInt(from),
  until: BigInt(until),
})
const drawn = fc.array(fc.tuple(fc.nat(50), fc.nat(10)), { maxLength: 8 })

describe('unread ranges', () => {
  test('hold exactly the offsets that were given and not passed', () => {
    fc.assert(
      fc.property(drawn, fc.nat(60), (given, passed) => {
        const ranges = given.map(([from, size]) => range(from, from + size))
        const unread = new UnreadRanges(ranges)
        unread.passed(at, BigInt(passed))
        for (let offset = 0n; offset < 70n; offset++) {
          const expected = offset >= passed && ranges.some(({ from, until }) => from <= offset && offset < until)
          expect(unread.has({ ...at, offset })).toBe(expected)
        }
        const listed = unread
          .list()
          .flatMap(({ from, until }) =>
            Array.from({ length: Number(until - from) }, (_, index) => from + BigInt(index)),
          )
        expect(new Set(listed).size).toBe(listed.length)
        expect(listed.every((offset) => unread.has({ ...at, offset }))).toBe(true)
      }),
    )
  })

  test('that are close together are read by one reader, and distant ones one after the other', () => {
    const unread = new UnreadRanges([range(0, 1), range(500, 501), range(9_000, 9_001), range(3, 4, 1)])
    expect(unread.nextToRead()).toEqual([range(0, 501), range(3, 4, 1)])
    unread.passed(at, 501n)
    unread.passed({ ...at, partition: 1 }, 4n)
    expect(unread.nextToRead()).toEqual([range(9_000, 9_001)])
  })

  test('up to 1,000 offsets apart are read by one reader', () => {
    expect(new UnreadRanges([range(0, 1), range(1_001, 1_002)]).nextToRead()).toEqual([range(0, 1_002)])
    expect(new UnreadRanges([range(0, 1), range(1_002, 1_003)]).nextToRead()).toEqual([range(0, 1)])
  })

  test('leave out what is empty: a reader would be opened for nothing', () => {
    const unread = new UnreadRanges([range(7, 7), range(9, 8), range(3, 3, 1)])
    expect([unread.list(), unread.nextToRead()]).toEqual([[], []])
  })

  test('of positions merge neighbors', () => {
    const positions = [5n, 3n, 4n, 9n, 3n].map((offset) => ({ ...at, offset }))
    expect(rangesOf(positions)).toEqual([range(3, 6), range(9, 10)])
  })
})
