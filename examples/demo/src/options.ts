import { parseArgs } from 'node:util'

/** Options of the command line. */
export interface DemoOptions {
  /** Brokers of a real Kafka; null: a simulated one in this process. */
  readonly brokers: readonly string[] | null
  /** A PostgreSQL; null: a SQLite file. */
  readonly postgres: string | null
  readonly isJson: boolean
  /** Serves the console until Ctrl-C instead of the story. */
  readonly hasConsole: boolean
  /** Where the console listens; 0: a free port. */
  readonly port: number
}

export const usage = `npm run demo -- [--kafka [HOST:PORT]] [--postgres [URL]] [--json]
npm run demo -- --console [--port 4400]

  --kafka      on a real broker: KAFKA_BOOTSTRAP, or 127.0.0.1:9092, or the address given
  --postgres   on a real database: DATABASE_URL, or postgres://postgres@127.0.0.1:5432/postgres, or the URL given
  --json       prints only the audit, as one line
  --console    serves the console of a shop that runs until Ctrl-C, on a simulated Kafka and SQLite
  --port       its port; 4400 by default, 0 for a free one

Without options it needs no service: Kafka is simulated in this process, and the database is a file.`

/** Parses the command line. Returns undefined if it requests help. @throws an Error that says what is wrong */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): DemoOptions | undefined {
  const { values, positionals } = parseArgs({
    args: withValues([...args]),
    options: {
      kafka: { type: 'string' },
      postgres: { type: 'string' },
      json: { type: 'boolean', default: false },
      console: { type: 'boolean', default: false },
      port: { type: 'string', default: '4400' },
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
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port is no port: ${values.port}`)
  if (values.console && (kafka !== undefined || postgres !== undefined || values.json))
    throw new Error('--console runs on a simulated Kafka and SQLite, and takes no other option but --port')
  const services = { brokers: kafka?.split(',') ?? null, postgres: postgres ?? null }
  return { ...services, isJson: values.json, hasConsole: values.console, port }
}

/** Allows `--kafka` and `--postgres` without a value. */
function withValues(args: string[]): string[] {
  return args.map((arg, index) => {
    const isBare = (arg === '--kafka' || arg === '--postgres') && (args[index + 1] ?? '--').startsWith('--')
    return isBare ? `${arg}=` : arg
  })
}
