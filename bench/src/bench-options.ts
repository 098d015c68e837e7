import { parseArgs } from 'node:util'
import type { BenchLine, BenchNote } from './statistics.ts'

/** The options of every benchmark. */
export interface BenchOptions {
  readonly rounds: number
  /** Selects the cases whose name contains this text. */
  readonly only: string
  /** The most records of a pass. By default each case has its own number. */
  readonly records?: number
  readonly progress: (text: string) => void
  readonly report: (line: BenchLine | BenchNote) => void
}

/** The parsed command line. */
export interface BenchCommand extends Pick<BenchOptions, 'rounds' | 'only'> {
  readonly name: string
  readonly records: number
  readonly isJson: boolean
}

/** A command line that cannot be parsed. */
export class BenchUsageError extends Error {}

/** Returns the usage text. `names` are the available benchmarks. */
export function benchUsage(names: readonly string[]): string {
  return `Usage: npm run bench -- NAME [--json] [--rounds N] [--only TEXT] [--records N]

NAME is one of: ${names.join(', ')}

  --json        prints each result as one JSON object per line
  --rounds N    measures every case N times (default: 5)
  --only TEXT   runs only cases whose name contains TEXT
  --records N   limits the records of a pass, to try a case; for connector, kafka-client and outbox
  --help        prints this text

bench/README.md describes the cases and how to read a line.
`
}

/** Parses the command line. Returns undefined when it requests help. @throws BenchUsageError */
export function readBenchCommand(args: readonly string[], names: readonly string[]): BenchCommand | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new BenchUsageError('Name one benchmark.')
  if (!names.includes(name)) throw new BenchUsageError(`There is no benchmark "${name}".`)
  const rounds = countFrom('rounds', values.rounds)
  const records = values.records === undefined ? Number.POSITIVE_INFINITY : countFrom('records', values.records)
  return { name, rounds, only: values.only, records, isJson: values.json }
}

function countFrom(option: string, given: string): number {
  const count = Number(given)
  if (Number.isSafeInteger(count) && count >= 1) return count
  throw new BenchUsageError(`--${option} takes a number from 1 on, got "${given}".`)
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '5' },
        only: { type: 'string', default: '' },
        records: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new BenchUsageError((error as Error).message)
  }
}
