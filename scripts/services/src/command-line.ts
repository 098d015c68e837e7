import { parseArgs } from 'node:util'
import { nearest } from '@waybill/core/option'
import { ServiceError, type ServiceName, serviceNames, usualServices } from './service.ts'

const actions = ['up', 'down', 'status'] as const
const flags = ['private', 'brokers', 'json', 'help'] as const

/** A parsed command line. */
export interface Command {
  readonly action: (typeof actions)[number]
  readonly names: readonly ServiceName[]
  readonly isPrivate: boolean
  readonly json: boolean
  readonly brokers: number | undefined
}

/** The usage text. */
export const usage = `npm run services -- [up|down|status] [kafka|postgres|mysql|redis|registry ...] [--private] [--brokers N] [--json]

  up         use the services on the default ports or at KAFKA_BOOTSTRAP, DATABASE_URL, MYSQL_URL and REDIS_URL;
             start those that do not respond (the default)
  registry   a schema registry, only when it is named; SCHEMA_REGISTRY_URL has its address
  down       stop the services that up started, and no others
  status     print the address of each service; the exit code is 1 when one is missing
  --private  a separate set on free ports, for work that stops, kills or cripples it
  --brokers  how many Kafka brokers, 1 to 9; with 3, internal topics have 3 replicas
  --json     one JSON object per line, for machines
`

/** Parses the arguments. Returns undefined when help is requested. */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): Command | undefined {
  for (const flag of ['private', 'brokers', 'json'])
    if (environment[`npm_config_${flag}`] !== undefined)
      throw new ServiceError(
        `npm consumed the flag --${flag}.`,
        `Write -- before it: npm run services -- ${args[0] ?? 'up'} --${flag} …`,
      )
  for (const [, flag = ''] of args.join('\n').matchAll(/^--([^=\n]+)/gm)) oneOf(flag, flags)
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      private: { type: 'boolean', default: false },
      brokers: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  const [word = 'up', ...given] = positionals
  const action = oneOf(word, actions)
  const names = given.length === 0 ? unnamed(action) : given.map((name) => oneOf(name, serviceNames))
  const brokers = values.brokers === undefined ? undefined : parseBrokers(values.brokers)
  if (brokers !== undefined && !(action === 'up' && names.includes('kafka')))
    throw new ServiceError('--brokers sets the number of Kafka brokers, and is valid only when `up` starts Kafka.')
  return { action, names, isPrivate: values.private, json: values.json, brokers }
}

/** Returns the services of a command that names none. `down` stops all that were started. */
function unnamed(action: Command['action']): readonly ServiceName[] {
  return action === 'down' ? serviceNames : usualServices
}

function oneOf<T extends string>(word: string, known: readonly T[]): T {
  const found = known.find((candidate) => candidate === word)
  if (found !== undefined) return found
  const meant = nearest(word, known)
  throw new ServiceError(
    `"${word}" is unknown. Use one of ${known.join(', ')}.`,
    meant === undefined ? undefined : `Did you mean ${meant}?`,
  )
}

function parseBrokers(text: string): number {
  if (/^[1-9]$/.test(text)) return Number(text)
  throw new ServiceError(`--brokers takes a number from 1 to 9, not "${text}".`)
}
