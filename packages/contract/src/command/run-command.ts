import { describeThrown, isWaybillError } from '@waybill/core'
import { nearest } from '@waybill/core/option'
import { asyncApiCommand } from './asyncapi-command.ts'
import { checkCommand } from './check-command.ts'
import { type Command, type CommandContext, type ExitCode, wrongUse } from './command.ts'
import { explainCommand } from './explain-command.ts'
import { parseOptions } from './parse-options.ts'
import { waitingCommand } from './waiting-command.ts'
import { writeCommand } from './write-command.ts'

const commands: readonly Command[] = [checkCommand, writeCommand, waitingCommand, asyncApiCommand, explainCommand]

/** Runs a command line and returns its exit code. Never rejects. */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const about = commands.find((command) => command.name === rest[0])
    context.out(about === undefined ? overview() : helpOf(about))
    return name === undefined ? 2 : 0
  }
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return wrongUse(context, unknownCommand(name))
  if (rest.includes('--help') || rest.includes('-h')) {
    context.out(helpOf(command))
    return 0
  }
  const given = parseOptions(command, rest)
  if ('problem' in given) return wrongUse(context, given.problem)
  try {
    return await command.run(given, context)
  } catch (error) {
    context.err(`${isWaybillError(error) ? `${error.code}  ${error.message}` : describeThrown(error)}\n`)
    return 1
  }
}

function unknownCommand(name: string): string {
  const meant = nearest(
    name,
    commands.map((command) => command.name),
  )
  return `There is no command ${name}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'waybill-contract: checks that changes of events break no reader',
    '',
    ...commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    '',
    'Exit codes: 0 passed or warnings only, 1 unreadable input, 2 wrong use, 3 the check failed.',
    'waybill-contract help COMMAND lists the options of a command.',
    '',
  ].join('\n')
}

function helpOf({ name, about, examples, options }: Command): string {
  const rows = Object.entries(options).map(([option, { takes, about: meaning }]): [string, string] => [
    `--${option}${takes === undefined ? '' : ` ${takes}`}`,
    meaning,
  ])
  const width = Math.max(...rows.map(([left]) => left.length))
  return [
    `waybill-contract ${name}: ${about}`,
    '',
    ...examples.map((line) => `  ${line}`),
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
  ].join('\n')
}
