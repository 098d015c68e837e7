/** The command line of `waybill-admin`. Pure. */

import { parseArgs } from 'node:util'
import { describeThrown } from '@waybill/core'
import { nearest } from '@waybill/core/option'

/** How the server logs in to the brokers. */
export interface BrokerLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  /** A file with the password: an argument would be seen in the list of processes. */
  readonly passwordFile: string
}

/** The options of a run. */
export interface AdminCommandOptions {
  readonly brokers: readonly string[]
  readonly topics: readonly string[]
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly caFile: string | undefined
  readonly login: BrokerLogin | undefined
  readonly tokensFile: string | undefined
  readonly hidesPayloads: boolean
}

interface Option {
  readonly takes?: string
  readonly about: string
}

/** Names that Spring, SmallRye, Kafka Connect and Waybill give to dead letter topics, or their users do. */
export const usualTopics: readonly string[] = ['*.DLT', '*-dlt', '*.DLQ', '*-dlq', 'dead-letter-topic-*']

const options: Readonly<Record<string, Option>> = {
  brokers: { takes: 'HOST:PORT,…', about: 'some brokers of the cluster' },
  dlt: { takes: 'NAME,…', about: `dead letter topics, * stands for any characters: ${usualTopics.join(',')}` },
  host: { takes: 'ADDRESS', about: 'where to listen: 127.0.0.1; another address needs --tokens' },
  port: { takes: 'PORT', about: 'where to listen: 4400; 0 takes a free port' },
  tokens: { takes: 'FILE', about: 'lines of NAME TOKEN: requests send "Authorization: Bearer TOKEN"' },
  'hide-payloads': { about: 'shows no keys, values, header values and messages of errors' },
  tls: { about: 'connects to the brokers by TLS' },
  ca: { takes: 'FILE', about: 'certificate authorities of the brokers, as PEM; implies --tls' },
  sasl: { takes: 'MECHANISM', about: 'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512' },
  username: { takes: 'NAME', about: 'of the login to the brokers' },
  'password-file': { takes: 'FILE', about: 'a file with the password of that login' },
  help: { about: 'prints this' },
}

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** Returns the help text. */
export function helpText(): string {
  const rows = Object.entries(options).map(([name, { takes, about }]): [string, string] => [
    `--${name}${takes === undefined ? '' : ` ${takes}`}`,
    about,
  ])
  const width = Math.max(...rows.map(([left]) => left.length))
  return [
    'waybill-admin: shows the dead letters of any program over REST, and changes nothing',
    '',
    '  waybill-admin --brokers localhost:9092',
    "  waybill-admin --brokers kafka:9093 --tls --dlt 'orders-dlt,payments.*.DLT'",
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
  ].join('\n')
}

/** Reads a command line. */
export function readAdminOptions(args: readonly string[]): AdminCommandOptions | 'HELP' | { readonly problem: string } {
  const unknown = args.find((one) => one.startsWith('--') && !Object.hasOwn(options, nameOf(one)))
  if (unknown !== undefined) {
    const meant = nearest(nameOf(unknown), Object.keys(options))
    return { problem: `There is no option ${unknown}.${meant === undefined ? '' : ` Did you mean --${meant}?`}` }
  }
  let values: Readonly<Record<string, string | boolean | undefined>>
  try {
    const shapes = Object.entries(options).map(
      ([name, { takes }]) => [name, { type: takes === undefined ? 'boolean' : 'string' }] as const,
    )
    ;({ values } = parseArgs({ args: [...args], options: Object.fromEntries(shapes), strict: true }))
  } catch (error) {
    return { problem: describeThrown(error) }
  }
  if (values['help'] === true) return 'HELP'
  return optionsOf(values)
}

function optionsOf(
  values: Readonly<Record<string, string | boolean | undefined>>,
): AdminCommandOptions | { readonly problem: string } {
  const text = (name: string): string | undefined => {
    const value = values[name]
    return typeof value === 'string' ? value : undefined
  }
  const brokers = wordsOf(text('brokers'))
  if (brokers.length === 0) return { problem: '--brokers is required: some brokers as HOST:PORT.' }
  const port = text('port') ?? '4400'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return { problem: `--port is a number to 65535, not ${port}.` }
  const mechanism = mechanisms.find((one) => one === text('sasl')?.toUpperCase())
  if (text('sasl') !== undefined && mechanism === undefined)
    return { problem: `--sasl is one of ${mechanisms.join(', ')}.` }
  const [username, passwordFile] = [text('username'), text('password-file')]
  const isLogin = mechanism !== undefined || username !== undefined || passwordFile !== undefined
  if (isLogin && (mechanism === undefined || username === undefined || passwordFile === undefined))
    return { problem: 'A login takes --sasl, --username and --password-file.' }
  const topics = wordsOf(text('dlt'))
  return {
    brokers,
    topics: topics.length === 0 ? usualTopics : topics,
    host: text('host') ?? '127.0.0.1',
    port: Number(port),
    tls: values['tls'] === true || text('ca') !== undefined,
    caFile: text('ca'),
    login:
      mechanism === undefined || username === undefined || passwordFile === undefined
        ? undefined
        : { mechanism, username, passwordFile },
    tokensFile: text('tokens'),
    hidesPayloads: values['hide-payloads'] === true,
  }
}

function wordsOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

function nameOf(argument: string): string {
  return argument.replace(/^--/, '').replace(/=.*$/s, '')
}
