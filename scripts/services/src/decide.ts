import type { ServiceKind } from './kind/service-kind.ts'
import { type Observation, portOfOurs, type Seen } from './observation.ts'
import type { Answer } from './service.ts'
import type { StartedService } from './state-file.ts'

/** A usable service: found, or started here. */
export type Location =
  | { readonly state: 'FOUND'; readonly url: string; readonly answer: Answer; readonly isNamed: boolean }
  | { readonly state: 'STARTED'; readonly url: string; readonly answer: Answer; readonly record: StartedService }

/** The reason why there is no service. */
export interface Absence {
  readonly state: 'ABSENT'
  readonly reason: string
}

/** The reason why a running service does not fit the request. */
export interface Unsuitable {
  readonly state: 'UNSUITABLE'
  readonly url: string
  readonly reason: string
}

/** The request of `up`. */
export interface Wish {
  /** Kafka only: minimum number of brokers. */
  readonly brokers?: number | undefined
  /** The command that stops the services of this set. Shared and private ones must not be mixed up. */
  readonly endWith: string
}

/** The action of `up` for a service. */
export type Decision =
  | { readonly action: 'USE'; readonly location: Location }
  | { readonly action: 'START'; readonly port: number | 'FREE' }
  | { readonly action: 'FAIL'; readonly because: Absence | Unsuitable }

type Candidate =
  | { readonly origin: 'NAMED'; readonly seen: Seen }
  | { readonly origin: 'STARTED'; readonly seen: Seen; readonly record: StartedService }
  | { readonly origin: 'USUAL'; readonly seen: Seen }
  | { readonly origin: 'NOWHERE' }

/**
 * Returns the candidate: the address in the environment, otherwise the service started here, otherwise the default
 * port. One that does not respond is not replaced by the next: it was named or started on purpose.
 */
function candidateOf({ named, started, usual }: Observation): Candidate {
  if (started !== undefined && started.url === (named?.url ?? started.url))
    return { origin: 'STARTED', seen: started, record: started.record }
  if (named !== undefined) return { origin: 'NAMED', seen: named }
  return usual === undefined ? { origin: 'NOWHERE' } : { origin: 'USUAL', seen: usual }
}

/** Returns the location of the service, or why there is none. */
export function locate(kind: ServiceKind, observation: Observation): Location | Absence {
  const candidate = candidateOf(observation)
  if (candidate.origin === 'NOWHERE') return { state: 'ABSENT', reason: 'it was not started' }
  const { url, answer, refusal } = candidate.seen
  switch (candidate.origin) {
    case 'STARTED': {
      const { record } = candidate
      if (answer !== undefined) return { state: 'STARTED', url, answer, record }
      return { state: 'ABSENT', reason: `${describeProcesses(record)} started here but cannot be used (${refusal})` }
    }
    case 'NAMED':
      if (answer !== undefined) return { state: 'FOUND', url, answer, isNamed: true }
      return { state: 'ABSENT', reason: `what ${kind.variable} names cannot be used (${refusal})` }
    case 'USUAL':
      if (answer !== undefined) return { state: 'FOUND', url, answer, isNamed: false }
      return {
        state: 'ABSENT',
        reason: candidate.seen.isTaken
          ? `what listens on port ${kind.usualPort} cannot be used (${refusal})`
          : `nothing listens on port ${kind.usualPort}`,
      }
  }
}

/** Decides whether to use the running service, to start one, or to report why neither is possible. */
export function decide(kind: ServiceKind, observation: Observation, { brokers, endWith }: Wish): Decision {
  const location = locate(kind, observation)
  if (location.state !== 'ABSENT') {
    const has = location.answer.brokers
    if (brokers === undefined || has === undefined || has >= brokers) return { action: 'USE', location }
    return { action: 'FAIL', because: tooFewBrokers(location, has, brokers, endWith) }
  }
  const candidate = candidateOf(observation)
  switch (candidate.origin) {
    case 'NOWHERE':
      return { action: 'START', port: 'FREE' }
    case 'USUAL':
      return { action: 'START', port: candidate.seen.isTaken ? 'FREE' : kind.usualPort }
    case 'STARTED':
      return fail(`${location.reason}. End it with \`${endWith}\` and try again.`)
    case 'NAMED': {
      // Our own address, kept in the environment from an earlier run: the service is started there again.
      const port = candidate.seen.isTaken ? undefined : portOfOurs(kind, candidate.seen.url)
      if (port !== undefined) return { action: 'START', port }
      return fail(`${location.reason}. Start it, or unset ${kind.variable} to have one started here.`)
    }
  }
}

function fail(reason: string): Decision {
  return { action: 'FAIL', because: { state: 'ABSENT', reason } }
}

function tooFewBrokers({ state, url }: Location, has: number, wanted: number, endWith: string): Unsuitable {
  const next =
    state === 'STARTED'
      ? `End it with \`${endWith}\` first.`
      : `Start one of your own with \`npm run services -- up --private --brokers ${wanted} kafka\`.`
  const brokers = has === 1 ? '1 broker' : `${has} brokers`
  return { state: 'UNSUITABLE', url, reason: `it has ${brokers}, and ${wanted} were asked for. ${next}` }
}

function describeProcesses({ processes }: StartedService): string {
  const pids = processes.map(({ pid }) => pid).join(', ')
  return processes.length === 1 ? `process ${pids} was` : `processes ${pids} were`
}
