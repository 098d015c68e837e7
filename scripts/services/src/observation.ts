import type { ServiceKind } from './kind/service-kind.ts'
import { isListening, loopback } from './port.ts'
import { isRunning } from './process/process-identity.ts'
import { type Answer, reasonOf } from './service.ts'
import type { StartedService } from './state-file.ts'

/** The result of probing one address. */
export interface Seen {
  readonly url: string
  /** Present when a service is there and can be used. */
  readonly answer?: Answer
  /** Why it cannot be used, otherwise. */
  readonly refusal?: string
  /** False when no connection is accepted there: a service can be started on this port. */
  readonly isTaken: boolean
}

/** Everything that decides where a service is, and whether and where one has to be started. */
export interface Observation {
  /** The address in the environment, when it names one. */
  readonly named?: Seen
  /** The one that was started earlier, when any process of it still runs. */
  readonly started?: Seen & { readonly record: StartedService }
  /** The default port of this machine; absent where it does not count. */
  readonly usual?: Seen
}

/** Probes the service started earlier, and, unless the scope is private, every other possible address. */
export async function observe(
  kind: ServiceKind,
  record: StartedService | undefined,
  environment: NodeJS.ProcessEnv | 'PRIVATE',
): Promise<Observation> {
  const isPrivate = environment === 'PRIVATE'
  const namedUrl = isPrivate ? undefined : environment[kind.variable]
  const [named, started, usual] = await Promise.all([
    namedUrl === undefined || namedUrl === '' ? undefined : look(kind, namedUrl),
    record === undefined ? undefined : lookAtStarted(kind, record),
    isPrivate ? undefined : look(kind, kind.urlAt(kind.usualPort)),
  ])
  return {
    ...(named === undefined ? {} : { named }),
    ...(started === undefined ? {} : { started }),
    ...(usual === undefined ? {} : { usual }),
  }
}

async function look(kind: ServiceKind, url: string): Promise<Seen> {
  try {
    return { url, answer: await kind.probe(url), isTaken: true }
  } catch (error) {
    const port = portOfOurs(kind, url)
    return { url, refusal: reasonOf(error), isTaken: port === undefined || (await isListening(loopback, port)) }
  }
}

async function lookAtStarted(kind: ServiceKind, record: StartedService): Promise<Observation['started']> {
  const alive = await Promise.all(record.processes.map(isRunning))
  if (!alive.includes(true)) return undefined
  const seen = await look(kind, record.url)
  if (seen.answer === undefined) return { ...seen, record }
  // The version it was started with is exact; the wire protocol of Kafka only reports the release line.
  return { ...seen, answer: { ...seen.answer, version: record.version }, record }
}

/** Returns the port when the address is exactly that of a service started here; undefined for any other. */
export function portOfOurs(kind: ServiceKind, url: string): number | undefined {
  return (url.match(/(?<=:)\d+/g) ?? []).map(Number).find((port) => kind.urlAt(port) === url)
}
