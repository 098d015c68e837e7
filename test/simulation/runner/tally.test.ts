import { expect, test } from 'vitest'
import type { SeedReport } from '../simulation.ts'
import { seedsOf, Tally } from './tally.ts'

function report(seed: number, fields: Partial<SeedReport> = {}): SeedReport {
  return {
    seed,
    violations: [],
    traceHash: `${seed}`,
    events: 100,
    elapsedMs: 10,
    faults: new Map(),
    rareStates: new Map(),
    ...fields,
  }
}

test('the reports of seeds are summed up', () => {
  const tally = new Tally()
  tally.add(report(1, { faults: new Map([['CUT', 2]]), rareStates: new Map([['late', 1]]) }))
  tally.add(report(2, { faults: new Map([['CUT', 3]]), events: 50, rareStates: new Map([['late', 4]]) }))
  expect(tally).toMatchObject({ seeds: 2, violations: 0, events: 150, fewestEvents: 50, virtualMs: 20 })
  expect(tally.faults).toEqual(new Map([['CUT', 5]]))
  expect(tally.rareStates).toEqual(new Map([['late', 5]]))
  expect(tally.missed(['late', 'early'])).toEqual(['early'])
})

test('a seed that is run again counts once, and has to do the same', () => {
  const tally = new Tally()
  for (const seed of [1, 2, 1]) tally.add(report(seed))
  expect(tally).toMatchObject({ seeds: 2, repeated: 1, violations: 0 })
  tally.add(report(2, { traceHash: 'other' }))
  expect(tally).toMatchObject({ seeds: 2, repeated: 2, violations: 1 })
  expect(tally.broken).toEqual([
    { seed: 2, violations: [{ invariant: 'DETERMINISM', what: 'two runs differ: 2 and other' }] },
  ])
})

test('only the first broken seeds are kept, and all are counted', () => {
  const tally = new Tally()
  const violations = [{ invariant: 'I1', what: 'lost' }]
  for (let seed = 0; seed < 100; seed++) tally.add(report(seed, { violations }))
  expect(tally.violations).toBe(100)
  expect(tally.broken.map(({ seed }) => seed)).toEqual(Array.from({ length: 20 }, (_, index) => index))
})

test('one seed in a hundred comes again, behind all others', () => {
  expect([...seedsOf(7, 3)]).toEqual([7, 8, 9, 7])
  expect([...seedsOf(1, 250)].slice(250)).toEqual([1, 101, 201])
})
