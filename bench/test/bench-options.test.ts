import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BenchUsageError, benchUsage, readBenchCommand } from '../src/bench-options.ts'

const names = ['kafka-client', 'outbox']
const flagsIn = (text: string): string[] => [...new Set(text.match(/(?<=\s|\[)--[a-z]+(?=[\s\]])/g))].toSorted()

describe('the command line of a benchmark', () => {
  test('names one, and how it is run', () => {
    expect(readBenchCommand(['outbox'], names)).toEqual({
      name: 'outbox',
      rounds: 5,
      only: '',
      records: Number.POSITIVE_INFINITY,
      isJson: false,
    })
    expect(
      readBenchCommand(['outbox', '--rounds', '7', '--only', 'claim', '--json', '--records', '900'], names),
    ).toEqual({
      name: 'outbox',
      rounds: 7,
      only: 'claim',
      records: 900,
      isJson: true,
    })
  })

  test.each([[['--help']], [['outbox', '-h']]])('%j asks for help', (args) => {
    expect(readBenchCommand(args, names)).toBeUndefined()
  })

  test.each([
    [[], 'Name one benchmark.'],
    [['outbox', 'kafka-client'], 'Name one benchmark.'],
    [['inbox'], 'There is no benchmark "inbox".'],
    [['outbox', '--rounds', '0'], '--rounds takes a number from 1 on, got "0".'],
    [['outbox', '--records', 'few'], '--records takes a number from 1 on, got "few".'],
    [['outbox', '--round', '3'], /--round/],
  ] as const)('%j is refused', (args, problem) => {
    const read = () => readBenchCommand(args, names)
    expect(read).toThrow(BenchUsageError)
    expect(read).toThrow(problem)
  })

  test('has no flag that its README does not show, but for help', () => {
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
    const commands = readme.split('\n').filter((line) => line.startsWith('npm run bench'))
    expect(flagsIn(`${commands.join('\n')} --help `)).toEqual(flagsIn(benchUsage(names)))
  })
})
