import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Queue } from '../../../src/client/fetch/queue.ts'

const apply = {
  push: (plain: number[], queue: Queue<number>, item: number): void => {
    plain.push(item)
    queue.push(item)
  },
  unshift: (plain: number[], queue: Queue<number>, item: number): void => {
    plain.unshift(item)
    queue.unshift(item)
  },
  clear: (plain: number[], queue: Queue<number>): void => {
    plain.length = 0
    queue.clear()
  },
}

test('returns items in the order of a plain array', () => {
  const step = fc.constantFrom(...(['push', 'push', 'shift', 'unshift', 'clear'] as const))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new Queue<number>()
      const plain: number[] = []
      for (const [index, one] of steps.entries()) {
        if (one === 'shift') expect(queue.shift()).toBe(plain.shift())
        else apply[one](plain, queue, index)
        expect([queue.size, queue.peek()]).toEqual([plain.length, plain[0]])
      }
    }),
    { verbose: true },
  )
})

test('lets go of what left it, however many pass through', () => {
  const queue = new Queue<number>()
  for (let index = 0; index < 5_000; index++) queue.push(index)
  for (let index = 0; index < 4_000; index++) expect(queue.shift()).toBe(index)
  expect([queue.size, queue.peek()]).toEqual([1_000, 4_000])
})
