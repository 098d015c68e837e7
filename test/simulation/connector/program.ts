/** What a seed does, drawn before it starts: everything here is data. */

import { createSeededRandom } from '@waybill/core'
import type { KafkaApi } from '@waybill/kafka/wire'
import type { FaultProfile, FaultRates } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type BindingPlan, drawBindings } from './binding-plan.ts'
import { drawRecords, type RecordPlan } from './record-plan.ts'

/** The topic that all bindings read. */
export const sourceTopic = 'orders'

/** How long requests and rebalances may take: shorter than in production, so that a seed sees more of them. */
export interface TimeoutPlan {
  readonly requestTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly metadataRefreshMs: number
  readonly maxWaitMs: number
  readonly deliveryTimeoutMs: number
  readonly produceTimeoutMs: number
  readonly assignment: 'COOPERATIVE' | 'EAGER'
  readonly partitionMaxBytes: number
}

/** Something that happens to the world at a time. */
export type ChaosKind =
  | 'REBALANCE'
  | 'EXPIRE_MEMBER'
  | 'STOP_PROCESS'
  | 'STOP_BINDING'
  | 'KILL_PROCESS'
  | 'FREEZE_PROCESS'
  | 'PAUSE_BINDING'
  | 'MOVE_GROUP_COORDINATOR'
  | 'MOVE_LEADER'
  | 'KILL_BROKER'
  | 'GROW'
  | 'WALL_JUMP'
  | 'CUT'
  | 'REPLAY'
  | 'RELEASE'

/** An event of the chaos. */
export interface ChaosEvent {
  readonly kind: ChaosKind
  readonly atMs: number
}

/** Almost everything of one kind, node or process fails for a while. */
export interface Outage {
  readonly fromMs: number
  readonly forMs: number
  readonly hits: { readonly api: KafkaApi; readonly rates: FaultRates } | 'NODE' | 'PROCESS'
  /** Requests are held up, or their answers lost. */
  readonly isStall: boolean
}

/** Something that happens to the process that comes to a named place in the engine for the n-th time. */
export interface FailpointPlan {
  readonly name: string
  readonly nth: number
  readonly kind: 'KILL' | 'FREEZE' | 'DELAY'
  readonly forMs: number
}

/** All of it. */
export interface Program {
  /** Nothing fails but handlers, and nobody dies: then nothing may be handled twice. */
  readonly isCalm: boolean
  readonly brokers: number
  readonly latencyMs: number
  readonly partitions: number
  readonly derivedPartitions: number
  readonly processes: number
  readonly bindings: readonly BindingPlan[]
  readonly createsTopics: boolean
  readonly timeouts: TimeoutPlan
  /** Handlers are given events of a catalog, in place of records as they are. */
  readonly areEvents: boolean
  readonly records: readonly RecordPlan[]
  readonly burst: number
  readonly chaosMs: number
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent[]
  readonly failpoints: readonly FailpointPlan[]
}

/** Keeps the draws of a program apart from those of the code it runs. */
const programStream = 0x5be0cd19

/** The program of a seed. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed ^ programStream))
  const isCalm = draw.chance(0.2)
  const brokers = draw.integer(1, 3)
  const chaosMs = draw.ms(2_000, 5_000)
  const areEvents = draw.chance(0.25)
  const records = drawRecords(draw, areEvents)
  const bindings = drawBindings(draw, isCalm, chaosMs, records.length)
  return {
    isCalm,
    brokers,
    latencyMs: draw.magnitude(1, 12),
    partitions: draw.integer(1, 3),
    derivedPartitions: draw.integer(1, 2),
    processes: draw.pick([2, 2, 2, 3, 3, 4]),
    bindings,
    createsTopics: draw.chance(0.05),
    timeouts: drawTimeouts(draw, isCalm),
    areEvents,
    records,
    burst: draw.pick([1, 5, 20]),
    chaosMs,
    faults: isCalm ? false : drawFaults(draw),
    outages: isCalm ? [] : drawOutages(draw, chaosMs),
    chaos: drawChaos(draw, isCalm, chaosMs, brokers, bindings),
    failpoints: isCalm ? [] : drawFailpoints(draw),
  }
}

/** Where the engine has done one thing and not yet the next. */
const failpointNames = [
  'fetch.received',
  'handler.before',
  'handler.after',
  'retry.publish',
  'retry.acked',
  'dlt.publish',
  'dlt.acked',
  'waiting.append',
  'waiting.appended',
  'commit.send',
  'commit.acked',
  'assign.end',
  'revoke.start',
  'revoke.end',
]

function drawFailpoints(draw: Draw): FailpointPlan[] {
  return Array.from({ length: draw.pick([0, 0, 1, 2, 4]) }, () => ({
    name: draw.pick(failpointNames),
    nth: Math.round(draw.magnitude(1, 30)),
    kind: draw.pick(['KILL', 'KILL', 'FREEZE', 'DELAY'] as const),
    forMs: draw.msOfMagnitude(20, 4_000),
  }))
}

function drawTimeouts(draw: Draw, isCalm: boolean): TimeoutPlan {
  const produceTimeoutMs = draw.ms(300, 900)
  return {
    requestTimeoutMs: draw.ms(500, 2_000),
    rebalanceTimeoutMs: isCalm ? 20_000 : draw.ms(2_000, 6_000),
    metadataRefreshMs: draw.ms(1_000, 4_000),
    maxWaitMs: draw.ms(200, 500),
    // Short ones fail while an outage lasts, long ones outlive it.
    deliveryTimeoutMs: produceTimeoutMs + draw.msOfMagnitude(50, 3_000),
    produceTimeoutMs,
    assignment: draw.chance(0.75) ? 'COOPERATIVE' : 'EAGER',
    partitionMaxBytes: draw.pick([300, 2_000, 1_048_576]),
  }
}

const groupApis = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'OffsetCommit', 'OffsetFetch'] as const
const dataApis = ['Metadata', 'FindCoordinator', 'Fetch', 'Produce', 'ListOffsets', 'InitProducerId'] as const
const faultyApis: readonly KafkaApi[] = [...groupApis, ...dataApis]
/** Where the engine's own promises are at stake, and not only the client's. */
const deciding: readonly KafkaApi[] = ['Produce', 'Produce', 'OffsetCommit', 'OffsetCommit', 'InitProducerId']
const faultKinds = ['error', 'lateError', 'lostResponse', 'deadConnection', 'delay'] as const

/** A few kinds of fault on a few kinds of request: all of them at once would only ever show the same history. */
function drawFaults(draw: Draw): FaultProfile | false {
  const kinds = draw.some(faultKinds, 0.4)
  const apis = draw.some(faultyApis, 0.35)
  if (kinds.length === 0 || apis.length === 0) return false
  const rates = Object.fromEntries(
    apis.map((api) => [api, Object.fromEntries(kinds.map((kind) => [kind, draw.magnitude(0.003, 0.12)]))]),
  )
  return { rates, maxDelayMs: draw.msOfMagnitude(50, 2_000) }
}

function drawOutages(draw: Draw, chaosMs: number): Outage[] {
  return Array.from({ length: draw.pick([0, 1, 1, 2]) }, (): Outage => {
    const which = draw.integer(0, 5)
    const api = draw.pick(which <= 2 ? deciding : faultyApis)
    const kind = draw.pick(['error', 'lostResponse', 'deadConnection', 'delay', 'lateError'] as const)
    return {
      fromMs: draw.ms(0, chaosMs),
      forMs: draw.msOfMagnitude(200, 4_000),
      hits: which <= 3 ? { api, rates: { [kind]: draw.between(0.8, 1) } } : which === 4 ? 'NODE' : 'PROCESS',
      isStall: draw.chance(0.5),
    }
  })
}

const harmless: readonly ChaosKind[] = [
  'REBALANCE',
  'STOP_PROCESS',
  'STOP_BINDING',
  'PAUSE_BINDING',
  'MOVE_LEADER',
  'WALL_JUMP',
]
const harmful: readonly ChaosKind[] = [
  'EXPIRE_MEMBER',
  'KILL_PROCESS',
  'KILL_PROCESS',
  'FREEZE_PROCESS',
  'MOVE_GROUP_COORDINATOR',
  'KILL_BROKER',
  'CUT',
]

function drawChaos(
  draw: Draw,
  isCalm: boolean,
  chaosMs: number,
  brokers: number,
  bindings: readonly BindingPlan[],
): ChaosEvent[] {
  const isKeyed = bindings.some(({ options }) => options.orderingMode === 'KEY')
  // A topic with a waiting topic must not grow: keys would change their partition, and the sizes would differ.
  const own: readonly ChaosKind[] = isKeyed ? ['REPLAY', 'RELEASE'] : ['GROW']
  const kinds = draw.some(isCalm ? [...harmless, ...own] : [...harmless, ...harmful, ...own], isCalm ? 0.45 : 0.35)
  const possible = kinds.filter((kind) => brokers > 1 || (kind !== 'MOVE_LEADER' && kind !== 'MOVE_GROUP_COORDINATOR'))
  return possible
    .flatMap((kind) => Array.from({ length: draw.integer(1, 2) }, () => ({ kind, atMs: draw.ms(200, chaosMs) })))
    .toSorted((one, other) => one.atMs - other.atMs)
}
