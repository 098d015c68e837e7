import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { simulationModules } from '../simulations.ts'
import { flags, helpText, parseCommandLine, UsageError, usage } from './command-line.ts'

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

describe('an invalid command line is refused', () => {
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

const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/run-the-simulation.md'), 'utf8')
const flagsIn = (text: string): string[] => [...new Set(text.match(/--[a-z]+/g))].toSorted()
const known = flags.map(([flag]) => flag.replace(/ .*/, ''))

describe('the help of npm run sim', () => {
  test('has every flag that the usage has, and one for itself', () => {
    expect(known.toSorted()).toEqual(flagsIn(`${usage} --help`))
  })

  test('lists the same flags as the how-to', () => {
    expect(flagsIn(page)).toEqual(known.toSorted())
    for (const [flag] of flags) expect(page).toContain(`| \`${flag}\` |`)
  })

  test('has no flag that the command refuses', () => {
    const values: Readonly<Record<string, string>> = { N: '2', S: '7', SEED: '9', MUTANT: 'x' }
    const args = flags
      .filter(([flag]) => flag !== '--help')
      .flatMap(([flag]) => flag.split(' ').map((part) => values[part] ?? part))
    expect(parseCommandLine(['client', ...args])).toMatchObject({
      seeds: 2,
      from: 7,
      workers: 2,
      trace: 9,
      mutant: 'x',
    })
  })

  test('names every simulation, and so does the how-to', () => {
    const names = Object.keys(simulationModules)
    expect(helpText(names)).toContain(`NAME is one of: ${names.join(', ')}`)
    for (const name of names) expect(page).toContain(`\`${name}\` is `)
  })

  test.each([[['--help']], [['client', '-h']]])('is asked for by %j', (args) => {
    expect(parseCommandLine(args)).toBeUndefined()
  })
})
