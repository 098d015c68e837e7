import { parseArgs } from 'node:util'

/** Options of the command line. */
export interface DemoOptions {
  /** Brokers of a real Kafka; null: a simulated one in this process. */
  readonly brokers: readonly string[] | null
  /** A PostgreSQL; null: a SQLite file. */
  readonly postgres: string | null
  readonly isJson: boolean
}

export const usage = `npm run demo -- [--kafka [HOST:PORT]] [--postgres [URL]] [--json]

  --kafka      on a real broker: KAFKA_BOOTSTRAP, or 127.0.0.1:9092, or the address given
  --postgres   on a real database: DATABASE_URL, or postgres://postgres@127.0.0.1:5432/postgres, or the URL given
  --json       prints only the audit, as one line

Without options it needs no service: Kafka is simulated in this process, and the database is a file.`

/** Parses the command line. Returns undefined if it requests help. @throws an Error that says what is wrong */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): DemoOptions | undefined {
  const { values, positionals } = parseArgs({
    args: withValues([...args]),
    options: {
      kafka: { type: 'string' },
      postgres: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  })
  if (values.help) return undefined
  if (positionals.length > 0) throw new Error(`Unknown argument: ${positionals.join(' ')}`)
  const kafka = values.kafka === '' ? (environment['KAFKA_BOOTSTRAP'] ?? '127.0.0.1:9092') : values.kafka
  const postgres =
    values.postgres === ''
      ? (environment['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres')
      : values.postgres
  return { brokers: kafka?.split(',') ?? null, postgres: postgres ?? null, isJson: values.json }
}

/** Allows `--kafka` and `--postgres` without a value. */
function withValues(args: string[]): string[] {
  return args.map((arg, index) => {
    const isBare = (arg === '--kafka' || arg === '--postgres') && (args[index + 1] ?? '--').startsWith('--')
    return isBare ? `${arg}=` : arg
  })
}
