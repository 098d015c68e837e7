import { expect, test } from 'vitest'
import { createMemoryIdempotencyStore } from '../../src/idempotency/memory-idempotency-store.ts'

function clockAt(start: number) {
  const clock = { time: start, now: () => clock.time }
  return clock
}

test('forgets the oldest marks above the limit', async () => {
  const store = createMemoryIdempotencyStore({ maxMarks: 3 })
  for (const key of ['a', 'b', 'c', 'd']) await store.mark('shipping', key)
  const seen = await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.seen('shipping', key)))
  expect(seen).toEqual([false, true, true, true])
})

test('a mark made again is the youngest', async () => {
  const store = createMemoryIdempotencyStore({ maxMarks: 2 })
  for (const key of ['a', 'b', 'a', 'c']) await store.mark('shipping', key)
  const seen = await Promise.all(['a', 'b', 'c'].map((key) => store.seen('shipping', key)))
  expect(seen).toEqual([true, false, true])
})

test('forgets a mark when its time is over, and not before', async () => {
  const clock = clockAt(1_000)
  const store = createMemoryIdempotencyStore({ retentionMs: 100 }, clock)
  await store.mark('shipping', 'a')
  clock.time += 99
  expect(await store.seen('shipping', 'a')).toBe(true)
  clock.time += 1
  expect(await store.seen('shipping', 'a')).toBe(false)
})

test('refuses a limit that holds nothing', () => {
  expect(() => createMemoryIdempotencyStore({ maxMarks: 0 })).toThrow('maxMarks')
})
