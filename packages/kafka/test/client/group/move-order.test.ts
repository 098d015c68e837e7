import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MoveOrder } from '../../../src/client/group/move-order.ts'

const leads = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), fc.integer({ min: -20, max: 20 }), {
  minKeys: 1,
  maxKeys: 30,
})

describe('the order of moves', () => {
  test('always begins with the greatest lead, while leads fall', () => {
    fc.assert(
      fc.property(leads, fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 60 }), (given, falls) => {
        const now = new Map(Object.entries(given))
        const order = new MoveOrder(now.keys(), (topic) => now.get(topic) ?? 0)
        for (const fall of falls) {
          const topic = order.take() as string
          expect(now.get(topic)).toBe(Math.max(...now.values()))
          now.set(topic, (now.get(topic) ?? 0) - fall)
          order.put(topic)
        }
      }),
    )
  })

  test('gives each topic once when none is put back', () => {
    fc.assert(
      fc.property(leads, (given) => {
        const order = new MoveOrder(Object.keys(given), (topic) => given[topic] ?? 0)
        const taken: string[] = []
        for (let topic = order.take(); topic !== undefined; topic = order.take()) taken.push(topic)
        expect(taken.toSorted()).toEqual(Object.keys(given).toSorted())
      }),
    )
  })

  test('does not look at all topics for each move', () => {
    const now = new Map(Array.from({ length: 2_000 }, (_, index) => [`t${index}`, 24]))
    let looks = 0
    const order = new MoveOrder(now.keys(), (topic) => {
      looks++
      return now.get(topic) ?? 0
    })
    for (let move = 0; move < 24_000; move++) {
      const topic = order.take() as string
      now.set(topic, (now.get(topic) ?? 0) - 2)
      order.put(topic)
    }
    expect(Math.max(...now.values())).toBe(0)
    expect(looks).toBeLessThan(100_000)
  })
})
