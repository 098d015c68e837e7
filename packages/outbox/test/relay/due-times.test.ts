import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DueTimes } from '../../src/relay/due-times.ts'

test('never wakes before a row is due, and no more than its resolution late', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 100 }), (times) => {
      const due = new DueTimes()
      for (const time of times) due.add(time)
      const earliest = Math.min(...times)
      expect(due.next - earliest).toBeGreaterThanOrEqual(0)
      expect(due.next - earliest).toBeLessThanOrEqual(20)
    }),
  )
})

test('forgets what is due by then, and says whether anything was', () => {
  const due = new DueTimes()
  for (const time of [100, 40, 40, 200]) due.add(time)
  expect([due.take(39), due.next]).toEqual([false, 40])
  expect([due.take(100), due.next]).toEqual([true, 200])
  expect([due.take(1_000), due.next]).toEqual([true, Number.POSITIVE_INFINITY])
})

test('is bounded: the farthest times make room, since a poll comes before them anyway', () => {
  const due = new DueTimes()
  for (let n = 1_000; n > 0; n--) due.add(n * 20)
  let kept = 0
  while (due.take(due.next)) kept++
  expect(kept).toBe(256)
})
