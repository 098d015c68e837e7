import { expect, test } from 'vitest'
import { drawProgram } from './program.ts'

const seeds = Array.from({ length: 2_000 }, (_, index) => index)

test('every seed has at least sixty records and two to four processes', () => {
  for (const seed of seeds) {
    const { processes, records } = drawProgram(seed)
    expect(records.length).toBeGreaterThanOrEqual(60)
    expect([2, 3, 4]).toContain(processes)
  }
})

test('a seed draws the same program every time, and another seed another one', () => {
  for (const seed of seeds.slice(0, 50)) expect(drawProgram(seed)).toEqual(drawProgram(seed))
  expect(drawProgram(1)).not.toEqual(drawProgram(2))
})

test('a calm seed has no fault and nobody dies in it', () => {
  const calm = seeds.map(drawProgram).filter(({ isCalm }) => isCalm)
  expect(calm.length).toBeGreaterThan(200)
  for (const { faults, outages, chaos } of calm) {
    expect(faults).toBe(false)
    expect(outages).toEqual([])
    for (const { kind } of chaos) expect(kind).not.toMatch(/KILL|EXPIRE|FREEZE|CUT|COORDINATOR/)
  }
})

test('every failure profile, order and parallelism is drawn', () => {
  const drawn = new Set(
    seeds.flatMap((seed) =>
      drawProgram(seed).bindings.map(
        ({ options }) =>
          `${options.failureProfile ?? 'TIERED'} ${options.orderingMode ?? 'RELAXED_IN_RETRY'} ${options.parallelism}`,
      ),
    ),
  )
  expect([...drawn].toSorted()).toEqual([
    'BEST_EFFORT_SKIP RELAXED_IN_RETRY KEY',
    'BEST_EFFORT_SKIP RELAXED_IN_RETRY PARTITION',
    'BEST_EFFORT_SKIP RELAXED_IN_RETRY UNORDERED',
    'BEST_EFFORT_SKIP STRICT KEY',
    'BEST_EFFORT_SKIP STRICT PARTITION',
    'BLOCKING_UNLIMITED RELAXED_IN_RETRY KEY',
    'BLOCKING_UNLIMITED RELAXED_IN_RETRY PARTITION',
    'BLOCKING_UNLIMITED RELAXED_IN_RETRY UNORDERED',
    'BLOCKING_UNLIMITED STRICT KEY',
    'BLOCKING_UNLIMITED STRICT PARTITION',
    'TIERED KEY KEY',
    'TIERED RELAXED_IN_RETRY KEY',
    'TIERED RELAXED_IN_RETRY PARTITION',
    'TIERED RELAXED_IN_RETRY UNORDERED',
    'TIERED STRICT KEY',
    'TIERED STRICT PARTITION',
  ])
})
