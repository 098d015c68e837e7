import { expect, test } from 'vitest'
import { describePrograms, programSeeds } from '../world/program-suite.ts'
import { drawProgram } from './program.ts'

describePrograms(drawProgram, {
  records: ({ records }) => records.length,
  members: ({ processes }) => processes,
  harmful: /KILL|EXPIRE|FREEZE|CUT|DELETE|COORDINATOR|STOP_TWICE/,
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

test('operator and developer actions are drawn, except in a seed with one lasting fault', () => {
  const programs = programSeeds.map(drawProgram)
  const kinds = new Set(programs.flatMap(({ chaos }) => chaos.map(({ kind }) => kind)))
  for (const kind of ['CREATE_TOPIC', 'SEEK', 'SKIP', 'RESET', 'TAKE_OUT', 'STOP_TWICE'] as const)
    expect(kinds).toContain(kind)
  const bindings = programs.flatMap((program) => program.bindings)
  expect(bindings.filter(({ filtered }) => filtered !== undefined).length).toBeGreaterThan(100)
  expect(bindings.filter(({ isExpression }) => isExpression).length).toBeGreaterThan(50)
  expect(bindings.filter(({ isExpression, topics }) => topics.length > 1 && !isExpression).length).toBeGreaterThan(50)
  for (const { obstruction, topics, bindings: own } of programs)
    if (obstruction !== undefined)
      expect({ topics, isDynamic: own.some(({ isDynamic }) => isDynamic) }).toEqual({
        topics: ['orders'],
        isDynamic: false,
      })
})

test('C-17 C-78 every way to detect duplicates is drawn with its own faults, except in a seed with one lasting fault', () => {
  const programs = programSeeds.map(drawProgram)
  const drawn = programs.flatMap(({ bindings, isCalm }) =>
    bindings.flatMap(({ deduplicate, handlesBatches }) =>
      deduplicate === undefined ? [] : [{ ...deduplicate, handlesBatches, isCalm }],
    ),
  )
  expect(
    new Set(drawn.map(({ kind, key, handlesBatches }) => `${kind} ${key}${handlesBatches ? ' batch' : ''}`)),
  ).toEqual(
    new Set([
      'STORE DEFAULT',
      'STORE NATURAL',
      'STORE PAIR',
      'STORE DEFAULT batch',
      'STORE NATURAL batch',
      'STORE PAIR batch',
      'INBOX DEFAULT',
      'INBOX NATURAL',
      'INBOX PAIR',
    ]),
  )
  expect(drawn.filter(({ isOfHandler }) => isOfHandler).length).toBeGreaterThan(5)
  for (const { isCalm, failRate, lostRate, slowRate, down } of drawn)
    if (isCalm)
      expect({ failRate, lostRate, slowRate, down }).toEqual({ failRate: 0, lostRate: 0, slowRate: 0, down: undefined })
  expect(drawn.filter(({ isCalm, lostRate }) => !isCalm && lostRate > 0).length).toBeGreaterThan(20)
  for (const { obstruction, bindings } of programs)
    if (obstruction !== undefined) expect(bindings.some(({ deduplicate }) => deduplicate !== undefined)).toBe(false)
})
