import { describeThrown, isWaybillError, type Runtime } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { isLocalRequest } from '../access/loopback.ts'
import { isNamed } from '../dead-letters/foreign-topics.ts'
import { createAdminServer } from '../mount/admin-server.ts'
import { createAdmin } from '../mount/create-admin.ts'
import { type AdminCommandOptions, helpText, readAdminOptions } from './command-line.ts'
import { tokenIdentity } from './token-identity.ts'

/** The way a command ended: 0 stopped or help, 1 it could not start, 2 wrong use. */
export type AdminExitCode = 0 | 1 | 2

/** The surroundings of a command. */
export interface AdminCommandContext {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly readFile: (path: string) => string
  readonly runtime: Runtime
  /** Aborts when the server has to stop. */
  readonly stop: AbortSignal
  /** @defaultValue TCP connections to the brokers */
  readonly connect?: (options: AdminCommandOptions) => KafkaClient
}

/** Longer waits for a broker mean a wrong address. */
const connectMs = 15_000

/** Serves the admin API over dead letter topics of any program until it is stopped. Never rejects. */
export async function runAdminCommand(args: readonly string[], context: AdminCommandContext): Promise<AdminExitCode> {
  const options = readAdminOptions(args)
  if (options === 'HELP') {
    context.out(helpText())
    return 0
  }
  if ('problem' in options) {
    context.err(`${options.problem} waybill-admin --help lists the options.\n`)
    return 2
  }
  try {
    await serve(options, context)
    return 0
  } catch (error) {
    context.err(`${isWaybillError(error) ? `${error.code}  ${error.message}` : describeThrown(error)}\n`)
    return 1
  }
}

async function serve(options: AdminCommandOptions, context: AdminCommandContext): Promise<void> {
  const { out, readFile, runtime, stop } = context
  const identify = options.tokensFile === undefined ? undefined : tokenIdentity(readFile(options.tokensFile))
  const { hidesPayloads, host, port, topics } = options
  await using client = context.connect?.(options) ?? clientOf(options, context)
  await using admin = createAdmin({
    clusters: { default: client },
    deadLetterTopics: { default: topics },
    // Permissions for what only reads: this program knows no handlers, and must not touch the records of others.
    // A page of another origin could reach a server on this machine under a name of its own.
    identify: identify ?? ((request) => (isLocalRequest(request) ? { by: localReader } : null)),
    authorize: () => ({
      'dlt:read': true,
      'topics:read': true,
      'groups:read': true,
      'bindings:read': true,
      'operations:read': true,
      'payloads:read': !hidesPayloads,
    }),
    runtime,
  })
  await using server = createAdminServer(admin, { host, port, isIdentified: identify !== undefined })
  const found = (await client.admin.listTopics({ deadlineMs: connectMs })).filter((topic) => isNamed(topic, topics))
  await server.start()
  out(`${server.url}  ${found.length === 0 ? `no topic is named ${topics.join(', ')}` : found.toSorted().join(', ')}\n`)
  if (stop.aborted) return
  await new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

const localReader = 'local reader'

function clientOf(
  { brokers, tls, caFile, login }: AdminCommandOptions,
  { readFile, runtime }: AdminCommandContext,
): KafkaClient {
  return createKafkaClient({
    brokers,
    clientId: 'waybill-admin',
    runtime,
    ...(tls ? { tls: caFile === undefined ? {} : { ca: readFile(caFile) } } : {}),
    ...(login === undefined
      ? {}
      : {
          sasl: {
            mechanism: login.mechanism,
            username: login.username,
            password: readFile(login.passwordFile).replace(/\r?\n$/, ''),
          },
        }),
  })
}
