import { afterAll, expect, test } from 'vitest'
import type { Mutant } from '../simulation.ts'
import { crashingSeed, simulation, stuckSeed } from './dice-simulation.ts'
import { PlantedBugs } from './planted-bugs.ts'

const bugs = new PlantedBugs(simulation, 5_000)
afterAll(() => bugs[Symbol.asyncDispose]())

function mutant(name: string, change: Partial<Mutant> = {}): Mutant {
  const found = simulation.mutants.find((one) => one.name === name)
  if (found === undefined) throw new Error(`There is no ${name}.`)
  return { ...found, ...change }
}

test('a bug is found by its seed, and is gone when the next one is planted', async () => {
  expect(await bugs.find(mutant('all-broken'))).toEqual({ invariant: 'LUCK', what: '1 was rolled' })
  expect(await bugs.find(mutant('harmless'))).toBeUndefined()
  expect(await bugs.find(mutant('all-broken', { name: 'once-more', seed: 2 }))).toMatchObject({ what: '2 was rolled' })
})

test('a bug of several changes has them all', async () => {
  const [first, second] = ['(seed: number)', 'seed !== 13'] as const
  const both = mutant('all-broken', {
    name: 'both',
    find: first,
    replace: '(seed: number, isAllowed = false)',
    also: [{ file: mutant('all-broken').file, find: second, replace: 'isAllowed' }],
  })
  expect(await bugs.find(both)).toMatchObject({ invariant: 'LUCK' })
})

test.each([
  ['gone', 'The text of mutant "gone" occurs 0 times in test/simulation/runner/dice-rule.ts, not once.'],
  ['elsewhere', 'does not load test/simulation/draw.ts.'],
])('a bug that cannot be planted is refused, and the next one is looked for: %s', async (name, problem) => {
  await expect(bugs.find(mutant(name))).rejects.toThrow(problem)
  expect(await bugs.find(mutant('all-broken', { name: `after-${name}` }))).toBeDefined()
})

test.each([
  ['ends its process', 'CRASH', crashingSeed],
  ['never comes to an end', 'STUCK', stuckSeed],
])('a bug that %s is found, and so are those behind it', { timeout: 60_000 }, async (_, invariant, seed) => {
  const ruinous = new PlantedBugs(simulation, 1_000)
  try {
    expect(await ruinous.find(mutant('harmless', { seed }))).toMatchObject({ invariant })
    expect(await ruinous.find(mutant('all-broken'))).toMatchObject({ invariant: 'LUCK' })
    expect(await ruinous.find(mutant('harmless'))).toBeUndefined()
  } finally {
    await ruinous[Symbol.asyncDispose]()
  }
})

test('a process that an earlier bug has ended says nothing about the next one', async () => {
  const ending = "(process.on('message', () => process.exit(1)), true)"
  await using others = new PlantedBugs(simulation)
  expect(await others.find(mutant('all-broken', { name: 'ending', replace: ending }))).toBeUndefined()
  expect(await others.find(mutant('harmless'))).toBeUndefined()
  expect(await others.find(mutant('all-broken'))).toMatchObject({ invariant: 'LUCK' })
})
