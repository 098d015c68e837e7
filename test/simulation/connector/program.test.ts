import { expect, test } from 'vitest'
import { describePrograms, programSeeds } from '../world/program-suite.ts'
import { drawProgram } from './program.ts'

describePrograms(drawProgram, {
  records: ({ records }) => records.length,
  members: ({ processes }) => processes,
  harmful: /KILL|EXPIRE|FREEZE|CUT|DELETE|COORDINATOR/,
})

test('an obstruction is the only fault of its seed, and of every kind there are some', () => {
  const obstructed = programSeeds.map(drawProgram).filter(({ obstruction }) => obstruction !== undefined)
  for (const { isCalm, chaos } of obstructed) expect({ isCalm, chaos }).toEqual({ isCalm: true, chaos: [] })
  expect(new Set(obstructed.map(({ obstruction }) => obstruction?.kind)).size).toBe(4)
})

test('every failure profile, order and parallelism is drawn', () => {
  const drawn = new Set(
    programSeeds.flatMap((seed) =>
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
