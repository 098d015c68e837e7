import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TurnQueue } from '../../../src/partition/lanes/turn-queue.ts'

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant('push' as const) },
  { weight: 3, arbitrary: fc.constant('shift' as const) },
  { weight: 2, arbitrary: fc.nat(50) },
)

test('gives the lowest offset first, whatever comes back in between', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const queue = new TurnQueue<{ offset: bigint }>()
      const waiting: bigint[] = []
      const away: bigint[] = []
      let next = 0n
      for (const one of steps) {
        if (one === 'push') {
          queue.push({ offset: next })
          waiting.push(next++)
        } else if (one === 'shift') {
          waiting.sort((a, b) => Number(a - b))
          const lowest = waiting.shift()
          expect(queue.peek()?.offset).toBe(lowest)
          expect(queue.shift()?.offset).toBe(lowest)
          if (lowest !== undefined) away.push(lowest)
        } else {
          const [offset] = away.splice(one % Math.max(1, away.length), 1)
          if (offset === undefined) continue
          queue.comeBack({ offset })
          waiting.push(offset)
        }
      }
      waiting.sort((a, b) => Number(a - b))
      expect(waiting.map(() => queue.shift()?.offset)).toEqual(waiting)
      expect(queue.shift()).toBeUndefined()
    }),
    { verbose: true },
  )
})

test('forgets both those that came and those that came back', () => {
  const queue = new TurnQueue<{ offset: bigint }>()
  queue.push({ offset: 5n })
  queue.comeBack({ offset: 1n })
  queue.clear()
  expect(queue.peek()).toBeUndefined()
})
