import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RunningWorks } from '../../../src/partition/lanes/running-works.ts'
import { workOf } from '../../delivery/work-of.ts'

test('running works are those that were added and not deleted, in the order of their starts', () => {
  const step = fc.record({ starts: fc.boolean(), pick: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const running = new RunningWorks()
      const expected = new Set<ReturnType<typeof workOf>>()
      for (const [offset, { starts, pick }] of steps.entries()) {
        const work = starts ? workOf({ offset: BigInt(offset) }) : [...expected][pick % (expected.size || 1)]
        if (work === undefined) continue
        if (starts) {
          running.add(work)
          expected.add(work)
        } else {
          running.delete(work)
          expected.delete(work)
        }
        expect([...running]).toEqual([...expected])
        expect(running.size).toBe(expected.size)
      }
    }),
  )
})
