/**
 * Faults between a client and the cluster. A request meets at most one fault, drawn by rates per kind of request
 * or ordered by a test. Each kind is a different truth for the client: after ERROR nothing was done, after LATE_ERROR and
 * LOST_RESPONSE everything was, and a client that got no answer cannot tell LOST_RESPONSE from DEAD_CONNECTION.
 */

import type { Runtime } from '@waybill/core'
import type { Random } from '@waybill/core/internal'
import { type ErrorName, errorCode, type KafkaApi } from '@waybill/kafka/wire'
import type { Call } from './request-handler.ts'

/** Ways to go wrong. */
export type FaultKind = 'ERROR' | 'LATE_ERROR' | 'LOST_RESPONSE' | 'DEAD_CONNECTION' | 'DELAY'

/** A fault of a kind of request, as it is counted. */
export type FaultName = `${KafkaApi} ${FaultKind}`

/** The share of requests that meet each fault, from 0 to 1, together at most 1. Absent means never. */
export interface FaultRates {
  /** Refused with an error, nothing was done. */
  readonly error?: number
  /** Done, and yet answered with an error, as when replicas are too slow. Only where Kafka does that. */
  readonly lateError?: number
  /** Done; the connection ends before the answer. */
  readonly lostResponse?: number
  /** The connection ends and the request never arrives. */
  readonly deadConnection?: number
  /** Done late. */
  readonly delay?: number
}

/** The faults of a run. */
export interface FaultProfile {
  /** Rates by request; `*` is for all that are not named. */
  readonly rates: { readonly [A in KafkaApi | '*']?: FaultRates }
  /** Longest delay; each is drawn below it. */
  readonly maxDelayMs?: number
}

/** Which requests a verb is about. What is absent is not looked at. */
export interface RequestMatch {
  readonly api?: KafkaApi
  readonly node?: number
  readonly client?: string
}

/** The fault of a request. */
export type Fault =
  | { readonly kind: 'NONE' | 'LOST_RESPONSE' | 'DEAD_CONNECTION' }
  | { readonly kind: 'ERROR' | 'LATE_ERROR'; readonly errorCode: number }
  | { readonly kind: 'DELAY'; readonly ms: number }

const noFault: Fault = { kind: 'NONE' }

const coordinatorErrors: readonly ErrorName[] = [
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR',
]
const controllerErrors: readonly ErrorName[] = ['NOT_CONTROLLER', 'REQUEST_TIMED_OUT']

/** Transient errors of a broker. */
const passingErrors: { readonly [A in KafkaApi]: readonly ErrorName[] } = {
  Metadata: ['LEADER_NOT_AVAILABLE'],
  FindCoordinator: ['COORDINATOR_NOT_AVAILABLE'],
  Fetch: ['NOT_LEADER_OR_FOLLOWER', 'KAFKA_STORAGE_ERROR'],
  Produce: ['NOT_LEADER_OR_FOLLOWER', 'NOT_ENOUGH_REPLICAS', 'KAFKA_STORAGE_ERROR'],
  ListOffsets: ['NOT_LEADER_OR_FOLLOWER', 'LEADER_NOT_AVAILABLE'],
  DeleteRecords: ['NOT_LEADER_OR_FOLLOWER', 'REQUEST_TIMED_OUT'],
  CreateTopics: controllerErrors,
  DeleteTopics: controllerErrors,
  CreatePartitions: controllerErrors,
  DescribeConfigs: ['REQUEST_TIMED_OUT'],
  IncrementalAlterConfigs: controllerErrors,
  JoinGroup: coordinatorErrors,
  SyncGroup: coordinatorErrors,
  Heartbeat: coordinatorErrors,
  LeaveGroup: coordinatorErrors,
  OffsetCommit: coordinatorErrors,
  OffsetFetch: coordinatorErrors,
  InitProducerId: coordinatorErrors,
  AddPartitionsToTxn: coordinatorErrors,
  AddOffsetsToTxn: coordinatorErrors,
  TxnOffsetCommit: coordinatorErrors,
  EndTxn: coordinatorErrors,
  ListGroups: coordinatorErrors,
  DescribeGroups: coordinatorErrors,
  DeleteGroups: coordinatorErrors,
}

/** Errors of a broker that wrote and then missed its replicas' acknowledgements. */
const errorsAfterEffect: { readonly [A in KafkaApi]?: readonly ErrorName[] } = {
  Produce: ['REQUEST_TIMED_OUT', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'],
  OffsetCommit: ['COORDINATOR_NOT_AVAILABLE'],
  TxnOffsetCommit: ['COORDINATOR_NOT_AVAILABLE'],
  EndTxn: ['COORDINATOR_NOT_AVAILABLE'],
  CreateTopics: ['REQUEST_TIMED_OUT'],
  DeleteTopics: ['REQUEST_TIMED_OUT'],
  CreatePartitions: ['REQUEST_TIMED_OUT'],
}

interface Stall {
  readonly match: RequestMatch
  readonly over: Promise<void>
}

interface Drop {
  readonly match: RequestMatch
  readonly rate: number
}

/** Decides what each request meets, and counts. */
export class Faults {
  readonly #random: Random
  readonly #stalls = new Set<Stall>()
  readonly #drops = new Set<Drop>()
  readonly #ordered: { api: KafkaApi; errorCode: number }[] = []
  readonly #counts = new Map<FaultName, number>()
  #profile: FaultProfile | false = false

  constructor(runtime: Runtime) {
    this.#random = runtime.random
  }

  /** How often each fault happened, as `Produce LOST_RESPONSE`. */
  get counts(): ReadonlyMap<FaultName, number> {
    return this.#counts
  }

  use(profile: FaultProfile | false): void {
    this.#profile = profile
  }

  /** Holds matching requests up, before they do anything, until it is disposed. */
  stall(match: RequestMatch): Disposable {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stall: Stall = { match, over: promise }
    this.#stalls.add(stall)
    return {
      [Symbol.dispose]: () => {
        this.#stalls.delete(stall)
        resolve()
      },
    }
  }

  /** Loses the answers of that share of the matching requests until it is disposed. */
  dropResponses(match: RequestMatch, rate: number): Disposable {
    const drop: Drop = { match, rate }
    this.#drops.add(drop)
    return { [Symbol.dispose]: () => void this.#drops.delete(drop) }
  }

  /** Refuses the next request of that kind. */
  failNext(api: KafkaApi, code: number): void {
    this.#ordered.push({ api, errorCode: code })
  }

  /** Resolves when nothing holds the request up. */
  async pass(api: KafkaApi, call: Call): Promise<void> {
    for (;;) {
      const stall = [...this.#stalls].find(({ match }) => isMatched(match, api, call))
      if (stall === undefined) return
      // oxlint-disable-next-line no-await-in-loop -- The next one may stand only behind this one.
      await stall.over
    }
  }

  /** Draws the fault of a request. */
  draw(api: KafkaApi, call: Call): Fault {
    const fault = this.#orderedFault(api) ?? this.#droppedFault(api, call) ?? this.#drawnFault(api)
    if (fault.kind !== 'NONE') {
      const name: FaultName = `${api} ${fault.kind}`
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    }
    return fault
  }

  #orderedFault(api: KafkaApi): Fault | null {
    const index = this.#ordered.findIndex((ordered) => ordered.api === api)
    if (index < 0) return null
    const [ordered] = this.#ordered.splice(index, 1)
    return { kind: 'ERROR', errorCode: ordered?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR }
  }

  #droppedFault(api: KafkaApi, call: Call): Fault | null {
    for (const { match, rate } of this.#drops)
      if (isMatched(match, api, call) && (rate >= 1 || this.#random() < rate)) return { kind: 'LOST_RESPONSE' }
    return null
  }

  #drawnFault(api: KafkaApi): Fault {
    const profile = this.#profile
    const rates = profile === false ? undefined : (profile.rates[api] ?? profile.rates['*'])
    if (profile === false || rates === undefined) return noFault
    let left = this.#random()
    const falls = (rate = 0): boolean => (left -= rate) < 0
    if (falls(rates.error)) return { kind: 'ERROR', errorCode: this.#pick(passingErrors[api]) }
    if (falls(rates.lateError)) return this.#lateError(api)
    if (falls(rates.lostResponse)) return { kind: 'LOST_RESPONSE' }
    if (falls(rates.deadConnection)) return { kind: 'DEAD_CONNECTION' }
    if (falls(rates.delay)) return { kind: 'DELAY', ms: this.#random() * (profile.maxDelayMs ?? 1_000) }
    return noFault
  }

  #lateError(api: KafkaApi): Fault {
    const names = errorsAfterEffect[api]
    return names === undefined ? noFault : { kind: 'LATE_ERROR', errorCode: this.#pick(names) }
  }

  #pick(names: readonly ErrorName[]): number {
    return errorCode[names[Math.floor(this.#random() * names.length)] as ErrorName]
  }
}

/** Whether a verb is about this request. */
export function isMatched(match: RequestMatch, api: KafkaApi | null, { node, client }: Call): boolean {
  return (
    (match.api === undefined || match.api === api) &&
    (match.node === undefined || match.node === node) &&
    (match.client === undefined || match.client === client)
  )
}
