import { expect, test } from 'vitest'
import { CallCounter, problemOfCalls } from '../src/outbox/rivals/call-counter.ts'

function called(numbers: readonly number[], left = 0): string | undefined {
  const counter = new CallCounter(1, 2)
  for (const number of numbers) counter.call({ number })
  return problemOfCalls(counter.result(left), 3)
}

test('a contestant must deliver each event once and delete it', () => {
  expect(called([0, 1, 2])).toBeUndefined()
  expect(called([0, 1, 1])).toBe('lost 1 of 3 events')
  expect(called([0, 1, 2, 2])).toBe('repeated 1 of 3 calls')
  expect(called([0, 1, 2], 1)).toBe('left 1 of 3 rows behind')
})
