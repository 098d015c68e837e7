import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PauseReason } from '../../src/api/pause-reason.ts'
import { PauseSet } from '../../src/partition/pause-set.ts'

const reasons: readonly PauseReason[] = [
  'OPERATOR',
  'BREAKER',
  'DELAY',
  'BACKPRESSURE',
  'DEAD_LETTER_FAILURE',
  'WAITING_FULL',
  'EXHAUSTED',
  'SHUTDOWN',
]

test('I15: fetching is paused if and only if there is a reason, and is told only of changes', () => {
  const step = fc.record({ reason: fc.constantFrom(...reasons), isAdded: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const told: boolean[] = []
      const naive = new Set<PauseReason>()
      const set = new PauseSet((isPaused) => told.push(isPaused))
      for (const { reason, isAdded } of steps) {
        if (isAdded) set.add(reason)
        else expect(set.remove(reason)).toBe(naive.has(reason))
        if (isAdded) naive.add(reason)
        else naive.delete(reason)
        expect(set.isPaused).toBe(naive.size > 0)
        expect(told.at(-1) ?? false).toBe(naive.size > 0)
        expect(new Set(set.reasons)).toEqual(naive)
      }
      expect(told.every((isPaused, index) => isPaused === (index % 2 === 0))).toBe(true)
    }),
  )
})

test('what is buffered goes on while more is only not fetched, and stands still for the other reasons', () => {
  const halts = reasons.filter((reason) => {
    const set = new PauseSet(() => {})
    set.add(reason)
    return set.isHalted
  })
  expect(halts).toEqual(['OPERATOR', 'BREAKER', 'DEAD_LETTER_FAILURE', 'EXHAUSTED', 'SHUTDOWN'])
})
