import type { LeaseFence } from '@waybill/outbox/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Outcome } from '../../src/dispatch/row-outcome.ts'
import { OutcomeGroups } from '../../src/settle/outcome-groups.ts'

const fences: readonly LeaseFence[] = [
  { kind: 'NONE' },
  { kind: 'LEASE', owner: 'a', version: 1n },
  { kind: 'LEASE', owner: 'a', version: 1n },
]
const outcomes: readonly Outcome[] = [
  { kind: 'DONE' },
  { kind: 'RETRY', delayMs: 1, error: 'e' },
  { kind: 'DEAD', error: 'e' },
]

test('every outcome comes out once, with its row, in batches of one fence and one kind within the limit', () => {
  const added = fc.array(fc.tuple(fc.constantFrom(...fences), fc.constantFrom(...outcomes)))
  fc.assert(
    fc.property(added, fc.integer({ min: 1, max: 5 }), (given, limit) => {
      const groups = new OutcomeGroups<{ seq: bigint }>()
      for (const [at, [fence, outcome]] of given.entries()) groups.add({ seq: BigInt(at) }, fence, outcome)
      expect(groups.size).toBe(given.length)
      const batches = groups.takeBatches(limit)
      expect(groups.size).toBe(0)
      const seen = batches.flatMap(({ kind, fence, rows, outcomes: those }) => {
        expect(rows.length).toBeLessThanOrEqual(limit)
        for (const [at, { seq }] of rows.entries()) {
          const [givenFence, givenOutcome] = given[Number(seq)] as (typeof given)[number]
          expect([fence === givenFence, those[at], kind]).toEqual([true, givenOutcome, givenOutcome.kind])
        }
        return rows.map(({ seq }) => Number(seq))
      })
      expect(seen.toSorted((one, other) => one - other)).toEqual(given.map((_, at) => at))
      expect(groups.takeBatches(limit)).toEqual([])
    }),
  )
})
