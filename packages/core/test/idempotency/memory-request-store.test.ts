import { expect, test } from 'vitest'
import { createMemoryRequestStore } from '../../src/idempotency/memory-request-store.ts'

function storeAt(options = {}) {
  const clock = { time: 0, monotonic: () => clock.time }
  return { clock, store: createMemoryRequestStore(options, clock) }
}

test('forgets a mark when its time is over, and not before', async () => {
  const { clock, store } = storeAt()
  await store.compareAndSet('a', null, 'mark', 100)
  clock.time = 99
  expect(await store.read('a')).toBe('mark')
  clock.time = 100
  expect(await store.read('a')).toBeNull()
  expect(await store.compareAndDelete('a', 'mark')).toBe(false)
})

test('forgets the mark that was set first above the limit', async () => {
  const { store } = storeAt({ maxMarks: 2 })
  for (const name of ['a', 'b', 'c']) await store.compareAndSet(name, null, 'mark', 100)
  expect(await Promise.all(['a', 'b', 'c'].map((name) => store.read(name)))).toEqual([null, 'mark', 'mark'])
})
