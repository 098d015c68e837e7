import { describe, expect, test } from 'vitest'
import { parseCommandLine, UsageError } from './command-line.ts'

test('a name alone runs a thousand seeds from the first', () => {
  expect(parseCommandLine(['client'])).toEqual({
    name: 'client',
    seeds: 1_000,
    from: 1,
    workers: null,
    searchesMutants: false,
    isJson: false,
    records: false,
    trace: null,
    mutant: null,
  })
})

test('every option is understood', () => {
  const args = ['client', '--seeds', '20', '--from', '5', '--workers', '3', '--mutants', '--json']
  expect(parseCommandLine(args)).toMatchObject({
    seeds: 20,
    from: 5,
    workers: 3,
    searchesMutants: true,
    isJson: true,
  })
  expect(parseCommandLine(['client', '--trace', '0', '--mutant', 'x'])).toMatchObject({ trace: 0, mutant: 'x' })
})

describe('what makes no sense is refused', () => {
  test.each([
    [[], 'Name one simulation.'],
    [['a', 'b'], 'Name one simulation.'],
    [['a', '--seeds', '0'], '--seeds takes an integer from 1, not "0".'],
    [['a', '--seeds', '1e3'], '--seeds takes an integer from 1, not "1e3".'],
    [['a', '--from', '4294967296'], '--from takes an integer from 0, not "4294967296".'],
    [['a', '--mutant', 'x'], '--mutant goes with --trace.'],
    [['a', '--sedes', '1'], /sedes/],
  ] as const)('%j', (args, problem) => {
    const parse = () => parseCommandLine(args)
    expect(parse).toThrow(UsageError)
    expect(parse).toThrow(problem)
  })
})
