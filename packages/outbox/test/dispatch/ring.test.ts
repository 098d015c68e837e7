import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Ring } from '../../src/dispatch/ring.ts'

test('is a bounded queue: any mix of pushes and shifts does what an array does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.option(fc.nat())), (capacity, steps) => {
      const ring = new Ring<number>(capacity)
      const model: number[] = []
      for (const step of steps) {
        if (step === null) expect(ring.shift()).toBe(model.shift())
        else {
          const fits = model.length < capacity
          expect(ring.push(step)).toBe(fits)
          if (fits) model.push(step)
        }
        expect(ring.length).toBe(model.length)
      }
    }),
  )
})
