/** Parses the command line of `npm run sim`. */

import { parseArgs } from 'node:util'

/** The usage line. */
export const usage = `Usage: npm run sim -- NAME [--seeds N] [--from S] [--workers N] [--mutants] [--json]
       npm run sim -- NAME --trace SEED [--mutant MUTANT]
       npm run sim -- NAME --record [--seeds N] [--from S] [--workers N]

--record searches for a seed that finds each planted bug and is clean without it, the recorded one first, and writes it
to the simulation's recorded-seeds.json. Run it when a change of timing has made recorded seeds blind.
`

/** Every flag and its description. docs/how-to/run-the-simulation.md lists the same ones. */
export const flags: readonly (readonly [flag: string, does: string])[] = [
  ['--seeds N', 'how many seeds to run: 1000'],
  ['--from S', 'the first of them: 1'],
  ['--workers N', 'processes that run them: one for each core'],
  ['--mutants', 'also plants every bug, and searches for a seed that finds it'],
  ['--json', 'prints the result as one line of JSON'],
  ['--trace SEED', 'runs one seed and prints its trace'],
  ['--mutant MUTANT', 'with --trace: plants this bug first'],
  ['--record', 'searches for the seeds of planted bugs, and records them'],
  ['--help', 'prints this'],
]

/** Returns the text of `--help`. `names` are the available simulations. */
export function helpText(names: readonly string[]): string {
  const lines = flags.map(([flag, does]) => `  ${flag.padEnd(17)} ${does}`)
  return `${usage}\nNAME is one of: ${names.join(', ')}\n\n${lines.join('\n')}\n`
}

/** An invalid command line. */
export class UsageError extends Error {}

/** A parsed command. */
export interface Command {
  readonly name: string
  readonly seeds: number
  readonly from: number
  readonly workers: number | null
  readonly searchesMutants: boolean
  readonly isJson: boolean
  /** Searches seeds for planted bugs and records them. */
  readonly records: boolean
  /** The seed to trace. */
  readonly trace: number | null
  /** The bug to plant for it. */
  readonly mutant: string | null
}

/**
 * Parses the command line. Returns undefined when it asks for help.
 *
 * @throws UsageError
 */
export function parseCommandLine(args: readonly string[]): Command | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('Name one simulation.')
  const { workers, trace, mutant } = values
  if (mutant !== undefined && trace === undefined) throw new UsageError('--mutant goes with --trace.')
  return {
    name,
    seeds: integer('--seeds', values.seeds, 1),
    from: integer('--from', values.from, 0),
    workers: workers === undefined ? null : integer('--workers', workers, 1),
    searchesMutants: values.mutants,
    isJson: values.json,
    records: values.record,
    trace: trace === undefined ? null : integer('--trace', trace, 0),
    mutant: mutant ?? null,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        seeds: { type: 'string', default: '1000' },
        from: { type: 'string', default: '1' },
        workers: { type: 'string' },
        mutants: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        record: { type: 'boolean', default: false },
        trace: { type: 'string' },
        mutant: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function integer(option: string, text: string, least: number): number {
  const value = Number(text)
  // A seed is 32 bits wide: a larger one would repeat a smaller one.
  if (!/^\d+$/.test(text) || value < least || value > 2 ** 32 - 1)
    throw new UsageError(`${option} takes an integer from ${least}, not "${text}".`)
  return value
}
