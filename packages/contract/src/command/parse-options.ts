import { parseArgs } from 'node:util'
import { describeThrown } from '@waybill/core'
import { nearest } from '@waybill/core/option'
import type { Command, GivenOptions } from './command.ts'

/** Returns the options of a command line, or what is wrong with it. */
export function parseOptions(command: Command, args: readonly string[]): GivenOptions | { readonly problem: string } {
  const unknown = args.find((each) => each.startsWith('--') && !Object.hasOwn(command.options, nameOf(each)))
  if (unknown !== undefined && unknown !== '--') return { problem: unknownOption(command, unknown) }
  try {
    const options = Object.fromEntries(
      Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
    )
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
    const given = sort(values, positionals)
    const wrong = Object.entries(given.texts).find(([name, value]) => !isAllowed(command, name, value))
    if (wrong === undefined) return given
    return { problem: `--${wrong[0]} is one of ${command.options[wrong[0]]?.oneOf?.join(', ')}, not ${wrong[1]}.` }
  } catch (error) {
    return { problem: describeThrown(error) }
  }
}

function sort(values: ReturnType<typeof parseArgs>['values'], words: readonly string[]): GivenOptions {
  const entries = Object.entries(values)
  return {
    texts: Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
    lists: Object.fromEntries(entries.filter((entry): entry is [string, string[]] => Array.isArray(entry[1]))),
    flags: new Set(entries.filter(([, value]) => value === true).map(([name]) => name)),
    words,
  }
}

function isAllowed({ options }: Command, name: string, value: string | undefined): boolean {
  const allowed = options[name]?.oneOf
  return allowed === undefined || value === undefined || allowed.includes(value)
}

function unknownOption({ name, options }: Command, given: string): string {
  const meant = nearest(nameOf(given), Object.keys(options))
  return `${name} has no option ${given}.${meant === undefined ? '' : ` Did you mean --${meant}?`}`
}

function nameOf(argument: string): string {
  return argument.replace(/^--/, '').replace(/=.*$/s, '')
}
