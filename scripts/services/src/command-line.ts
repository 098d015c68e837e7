import { parseArgs } from 'node:util'
import { nearest } from '@waybill/core/option'
import { ServiceError, type ServiceName, serviceNames } from './service.ts'

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
export const usage = `npm run services -- [up|down|status] [kafka|postgres|mysql|redis ...] [--private] [--brokers N] [--json]

  up         use what answers on the usual ports or where KAFKA_BOOTSTRAP, DATABASE_URL, MYSQL_URL and REDIS_URL
             point; start what does not (the default)
  down       stop what up started, and nothing else
  status     say what runs where; the exit code is 1 when something is missing
  --private  a set of one's own on free ports, for work that stops, kills or cripples it
  --brokers  how many Kafka brokers, 1 to 9; with 3, internal topics have 3 replicas
  --json     one JSON object a line, for machines
`

/** Parses the arguments. Returns undefined when help is requested. */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): Command | undefined {
  for (const flag of ['private', 'brokers', 'json'])
    if (environment[`npm_config_${flag}`] !== undefined)
      throw new ServiceError(
        `npm kept --${flag} for itself.`,
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
  const names = given.length === 0 ? serviceNames : given.map((name) => oneOf(name, serviceNames))
  const brokers = values.brokers === undefined ? undefined : parseBrokers(values.brokers)
  if (brokers !== undefined && !(action === 'up' && names.includes('kafka')))
    throw new ServiceError('--brokers says how many brokers `up` starts Kafka with, and nothing else.')
  return { action, names, isPrivate: values.private, json: values.json, brokers }
}

function oneOf<T extends string>(word: string, known: readonly T[]): T {
  const found = known.find((candidate) => candidate === word)
  if (found !== undefined) return found
  const meant = nearest(word, known)
  throw new ServiceError(
    `"${word}" is none of ${known.join(', ')}.`,
    meant === undefined ? undefined : `Did you mean ${meant}?`,
  )
}

function parseBrokers(text: string): number {
  if (/^[1-9]$/.test(text)) return Number(text)
  throw new ServiceError(`--brokers takes a number from 1 to 9, not "${text}".`)
}
