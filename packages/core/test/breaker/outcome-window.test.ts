import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OutcomeWindow } from '../../src/breaker/outcome-window.ts'

const anyOutcome = fc.record({ isFailed: fc.boolean(), isSlow: fc.boolean() })

test('an empty window has rates of zero', () => {
  expect(new OutcomeWindow(3).rates).toEqual({ calls: 0, failureRate: 0, slowCallRate: 0 })
})

test('a window forgets the oldest outcome when it is full', () => {
  const window = new OutcomeWindow(2)
  window.record(true, true)
  window.record(false, true)
  expect(window.rates).toEqual({ calls: 2, failureRate: 50, slowCallRate: 100 })
  window.record(false, false)
  expect(window.rates).toEqual({ calls: 2, failureRate: 0, slowCallRate: 50 })
})

test('the rates of a window are those of its last outcomes, recounted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(anyOutcome, { maxLength: 100 }), (size, outcomes) => {
      const window = new OutcomeWindow(size)
      for (const { isFailed, isSlow } of outcomes) window.record(isFailed, isSlow)
      const last = outcomes.slice(-size)
      const percent = (count: number): number => (last.length === 0 ? 0 : (count * 100) / last.length)
      expect(window.rates).toEqual({
        calls: last.length,
        failureRate: percent(last.filter(({ isFailed }) => isFailed).length),
        slowCallRate: percent(last.filter(({ isSlow }) => isSlow).length),
      })
    }),
  )
})
