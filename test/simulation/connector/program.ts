/** The program of a seed, drawn before it starts: plain data. */

import { createSeededRandom } from '@waybill/core/internal'
import type { KafkaApi } from '@waybill/kafka/wire'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawFaults, drawOutages, drawTimes, groupApis, type Outage } from '../world/fault-plan.ts'
import { type BindingPlan, drawBatches, drawBindings, drawUses } from './binding-plan.ts'
import { drawDeduplication } from './deduplication-plan.ts'
import { drawLogCuts, type LogCutPlan } from './log-cuts.ts'
import type { ObstructionPlan } from './obstruction.ts'
import { drawRecords } from './record-plan.ts'
import { drawSources, type SourcePlan } from './source-plan.ts'

/** Timeouts of requests and rebalances: shorter than in production, so that a seed sees more of them. */
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

/** A fault or change injected at a set time. */
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
  | 'DELETE_RECORDS'
  | 'RECREATE_SOURCE'
  | 'WALL_JUMP'
  | 'CUT'
  | 'REPLAY'
  | 'RELEASE'
  | 'CREATE_TOPIC'
  | 'SEEK'
  | 'SKIP'
  | 'RESET'
  | 'TAKE_OUT'
  | 'STOP_TWICE'

/** A fault in the process that reaches a failpoint for the n-th time. */
export interface FailpointPlan {
  readonly name: string
  readonly nth: number
  readonly kind: 'KILL' | 'FREEZE' | 'DELAY' | 'STOP'
  readonly forMs: number
}

/** The complete program of one seed. */
export interface Program extends SourcePlan {
  /** True when only handlers fail and no process dies: then no record may be handled twice. */
  readonly isCalm: boolean
  readonly brokers: number
  readonly latencyMs: number
  readonly partitions: number
  readonly derivedPartitions: number
  readonly processes: number
  readonly createsTopics: boolean
  /** Largest batch that dead letter topics accept. */
  readonly deadLetterBytes: number
  readonly timeouts: TimeoutPlan
  /** Handlers receive events of a catalog instead of raw records. */
  readonly areEvents: boolean
  readonly burst: number
  readonly chaosMs: number
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
  readonly failpoints: readonly FailpointPlan[]
  /** The only fault of a calm seed, which lasts until everything else is done. */
  readonly obstruction: ObstructionPlan | undefined
  readonly logCuts: readonly LogCutPlan[]
}

/** Separates the draws of a program from those of the code it runs. */
const programStream = 0x5be0cd19
/** Separates later additions, so that older seeds stay the same. */
const batchStream = 0x1f83d9ab
const useStream = 0x3c6ef372
const deduplicationStream = 0x510e527f

/** Draws the program of a seed. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed ^ programStream))
  const isCalm = draw.chance(0.25)
  const obstruction = isCalm && draw.chance(0.3) ? drawObstruction(draw) : undefined
  const isObstructed = obstruction !== undefined
  const brokers = draw.integer(1, 3)
  const chaosMs = draw.ms(2_000, 5_000)
  const areEvents = draw.chance(0.25) && !isObstructed
  const deadLetterBytes = draw.chance(0.2) ? draw.integer(1_600, 2_400) : 1_048_576
  const records = drawRecords(draw, areEvents, deadLetterBytes)
  const drawn = drawBindings(draw, { isCalm, chaosMs, records: records.length, obstruction })
  const bindings = drawBatches(new Draw(createSeededRandom(seed ^ batchStream)), drawn, areEvents)
  const program = withUses(new Draw(createSeededRandom(seed ^ useStream)), {
    isCalm,
    brokers,
    latencyMs: draw.magnitude(1, 12),
    partitions: draw.integer(isObstructed ? 2 : 1, 3),
    derivedPartitions: draw.integer(1, 2),
    processes: draw.pick([2, 2, 2, 3, 3, 4]),
    bindings,
    createsTopics: draw.chance(0.05) && !isObstructed,
    deadLetterBytes,
    timeouts: drawTimeouts(draw, isCalm),
    areEvents,
    records,
    burst: draw.pick([1, 5, 20]),
    chaosMs,
    faults: isCalm ? false : drawFaults(draw, faultRange),
    outages: isCalm ? [] : drawOutages(draw, { chaosMs, longestMs: 4_000 }, () => drawHits(draw)),
    chaos: isObstructed ? [] : drawAllChaos(draw, { isCalm, chaosMs, brokers, bindings }),
    failpoints: isCalm ? [] : drawFailpoints(draw),
    obstruction,
  })
  const complete = withDeduplication(new Draw(createSeededRandom(seed ^ deduplicationStream)), program)
  return { ...complete, logCuts: drawLogCuts(seed, complete) }
}

function withDeduplication(draw: Draw, program: Omit<Program, 'logCuts'>): Omit<Program, 'logCuts'> {
  const frame = {
    ...program,
    isRecreated: program.chaos.some(({ kind }) => kind === 'RECREATE_SOURCE'),
    isObstructed: program.obstruction !== undefined,
  }
  const bindings = program.bindings.map((binding) => ({
    ...binding,
    deduplicate: drawDeduplication(draw, binding, frame),
  }))
  return { ...program, bindings }
}

/** Adds uses by operators and developers: filters, several topics, moved positions, dynamic bindings. */
function withUses(draw: Draw, program: Omit<Program, 'topics' | 'lateTopic' | 'logCuts'>): Omit<Program, 'logCuts'> {
  const { records, chaos, chaosMs, obstruction } = program
  const isAlone = obstruction !== undefined || chaos.some(({ kind }) => kind === 'RECREATE_SOURCE')
  const bindings = drawUses(draw, program.bindings, { records, isAlone })
  const sources = drawSources(draw, { bindings, records, chaosMs, isAlone })
  const { lateTopic } = sources
  const late = lateTopic === undefined ? [] : [{ kind: 'CREATE_TOPIC', atMs: lateTopic.atMs } as const]
  const acts = drawTimes(draw, drawActs(draw, sources.bindings, program.isCalm), { most: 2, chaosMs })
  const all = isAlone ? chaos : [...chaos, ...late, ...acts].toSorted((one, other) => one.atMs - other.atMs)
  const failpoints = program.isCalm && !isAlone ? drawStops(draw) : program.failpoints
  return { ...program, ...sources, chaos: all, failpoints }
}

/** Draws stops of a process between the failure of a record and its forwarding. */
function drawStops(draw: Draw): FailpointPlan[] {
  const name = draw.pick(['retry.publish', 'dlt.publish'])
  const nth = Math.round(draw.magnitude(1, 8))
  return draw.chance(0.25) ? [{ name, nth, kind: 'STOP', forMs: 0 }] : []
}

function drawActs(draw: Draw, bindings: readonly BindingPlan[], isCalm: boolean): ChaosKind[] {
  const isMoved = draw.chance(0.12)
  const isDynamic = bindings.some((binding) => binding.isDynamic)
  const acts = draw.some(['SEEK', 'SKIP', 'RESET'] as const, isMoved ? 0.6 : 0)
  return [
    ...acts,
    ...draw.some(['STOP_TWICE'] as const, isCalm ? 0 : 0.1),
    ...(isDynamic ? (['TAKE_OUT'] as const) : []),
  ]
}

function drawObstruction(draw: Draw): ObstructionPlan {
  return {
    kind: draw.pick(['STUCK_HANDLER', 'FAILING_RECORD', 'NO_DEAD_LETTER_TOPIC', 'DEAD_PROCESS'] as const),
    partition: draw.integer(0, 1),
    stallAfterMs: draw.ms(4_000, 8_000),
  }
}

/** Failpoints between two steps of the engine. */
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
    metadataRefreshMs: draw.ms(1_500, 5_000),
    maxWaitMs: draw.ms(300, 1_000),
    // Short ones fail during an outage, long ones outlive it.
    deliveryTimeoutMs: produceTimeoutMs + draw.msOfMagnitude(50, 3_000),
    produceTimeoutMs,
    assignment: draw.chance(0.75) ? 'COOPERATIVE' : 'EAGER',
    partitionMaxBytes: draw.pick([300, 2_000, 1_048_576]),
  }
}

const dataApis = ['Metadata', 'FindCoordinator', 'Fetch', 'Produce', 'ListOffsets', 'InitProducerId'] as const
const faultyApis: readonly KafkaApi[] = [...groupApis, ...dataApis]
/** Requests on which the engine's own guarantees depend, and not only the client's. */
const deciding: readonly KafkaApi[] = ['Produce', 'Produce', 'OffsetCommit', 'OffsetCommit', 'InitProducerId']
const faultRange = { apis: faultyApis, kindRate: 0.4, apiRate: 0.35, highest: 0.12 }

function drawHits(draw: Draw): Outage['hits'] {
  const which = draw.integer(0, 5)
  const api = draw.pick(which <= 2 ? deciding : faultyApis)
  const kind = draw.pick(['error', 'lostResponse', 'deadConnection', 'delay', 'lateError'] as const)
  const rates = { [kind]: draw.between(0.8, 1) }
  return which <= 3 ? { api, rates } : which === 4 ? 'NODE' : 'PROCESS'
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
  'DELETE_RECORDS',
  'CUT',
]

type ChaosFrame = Pick<Program, 'isCalm' | 'chaosMs' | 'brokers' | 'bindings'>

/**
 * Draws the chaos. Recreating the source is the only fault of its seed: brokers apply a commit of an owner that has not
 * noticed yet to the new log, and the next owner must believe it.
 */
function drawAllChaos(draw: Draw, frame: ChaosFrame): ChaosEvent<ChaosKind>[] {
  const { isCalm, chaosMs, bindings } = frame
  const chaos = drawChaos(draw, frame)
  const mayRecreate = bindings.every(
    ({ options }) => options.orderingMode !== 'KEY' && options.startFrom === 'EARLIEST',
  )
  if (!isCalm || !mayRecreate || !draw.chance(0.15)) return chaos
  return [{ kind: 'RECREATE_SOURCE', atMs: draw.ms(500, chaosMs) }]
}

function drawChaos(draw: Draw, { isCalm, chaosMs, brokers, bindings }: ChaosFrame): ChaosEvent<ChaosKind>[] {
  const isKeyed = bindings.some(({ options }) => options.orderingMode === 'KEY')
  // A topic with a waiting topic must not grow: keys would change their partition, and the sizes would differ.
  const own: readonly ChaosKind[] = isKeyed ? ['REPLAY', 'RELEASE'] : ['GROW']
  const kinds = draw.some(isCalm ? [...harmless, ...own] : [...harmless, ...harmful, ...own], isCalm ? 0.45 : 0.35)
  // Where a missing position stops a partition, no operator would ever set another.
  const isStrict = bindings.some(({ options }) => options.startFrom === 'ERROR')
  const possible = kinds.filter((kind) => {
    if (kind === 'MOVE_LEADER' || kind === 'MOVE_GROUP_COORDINATOR') return brokers > 1
    return !isStrict || (kind !== 'GROW' && kind !== 'DELETE_RECORDS')
  })
  const events = drawTimes(draw, possible, { most: 2, chaosMs })
  // An operator who repeats requests fills a waiting topic with copies that have no outcome yet.
  if (!isKeyed || !draw.chance(0.2)) return events
  const asks = drawTimes(draw, ['REPLAY', 'RELEASE'] as const, { most: 6, chaosMs })
  return [...events, ...asks].toSorted((one, other) => one.atMs - other.atMs)
}
