/** The program of a seed, drawn before it starts: plain data. */

import { createSeededRandom } from '@waybill/core/internal'
import type { ConsumerOptions, ProducerOptions } from '@waybill/kafka'
import type { KafkaApi } from '@waybill/kafka/wire'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import {
  type ChaosEvent,
  drawFaults,
  drawOutages,
  drawTimes,
  groupApis,
  type Outage,
  transactionApis,
} from '../world/fault-plan.ts'

/** The group that all members belong to. */
export const groupId = 'group'

/** The topic that transforming members write to. */
export const outputTopic = 'output'

/** A topic that members read. */
export interface TopicPlan {
  readonly name: string
  readonly partitions: number
  /** A second topic that is created and deleted together with it. */
  readonly companion: string | undefined
}

/** How members process a record. */
export interface HandlerPlan {
  readonly maxMs: number
  /** Probability that it takes far longer than it should. */
  readonly stuckRate: number
  readonly stuckMs: number
  /** Probability that it fails, so that its record must be fetched again. */
  readonly failRate: number
  /** Maximum records of a partition in progress; beyond it the partition is paused. */
  readonly maxAhead: number
}

/** How members run. */
export interface MemberPlan {
  readonly count: number
  readonly isStatic: boolean
  readonly options: Pick<
    ConsumerOptions,
    | 'sessionTimeoutMs'
    | 'heartbeatIntervalMs'
    | 'rebalanceTimeoutMs'
    | 'drainDeadlineMs'
    | 'requestTimeoutMs'
    | 'metadataRefreshMs'
    | 'maxPollIntervalMs'
    | 'assignment'
    | 'startFrom'
    | 'prefetchRecords'
    | 'maxWaitMs'
    | 'partitionMaxBytes'
  > & { readonly sessionTimeoutMs: number; readonly maxPollIntervalMs: number }
  readonly pollRecords: number
  readonly pollMs: number
  readonly commitEveryMs: number
  /** Probability that the member stops polling for a while. */
  readonly idleRate: number
  readonly idleMs: number
  /** Probability that a partition is paused for a while without a reason. */
  readonly pauseRate: number
  /** Probability that a commit is made a while after its offsets were collected. */
  readonly lateCommitRate: number
  /** Probability that a drain ignores its deadline. */
  readonly sloppyDrainRate: number
}

/** A producer of plain records. */
export interface SourcePlan {
  readonly preset: 'EVENT' | 'DEAD_LETTER'
  readonly options: ProducerOptions
  readonly topics: readonly string[]
  readonly records: number
  readonly burst: number
  readonly hugeRate: number
}

/** A producer of transactions. */
export interface FeederPlan {
  readonly transactions: number
  readonly records: number
  readonly abortRate: number
  readonly topics: readonly string[]
}

/** A fault or change injected at a set time. */
export type ChaosKind =
  | 'REBALANCE'
  | 'EXPIRE_MEMBER'
  | 'STOP_MEMBER'
  | 'KILL_MEMBER'
  | 'FREEZE_MEMBER'
  | 'REPLACE_MEMBER'
  | 'KILL_PRODUCER'
  | 'REPLACE_PRODUCER'
  | 'MOVE_GROUP_COORDINATOR'
  | 'MOVE_TRANSACTION_COORDINATOR'
  | 'MOVE_LEADER'
  | 'KILL_BROKER'
  | 'GROW'
  | 'DELETE_RECORDS'
  | 'WALL_JUMP'
  | 'CUT'

/** The complete program of one seed. */
export interface Program {
  readonly kind: 'SETTLE' | 'TRANSFORM'
  /** True when nothing fails and no process dies: then no record may be handled twice. */
  readonly isCalm: boolean
  readonly brokers: number
  readonly latencyMs: number
  readonly markerDelayMs: number
  readonly topics: readonly TopicPlan[]
  /** Largest batch that topics accept. */
  readonly maxBatchBytes: number
  readonly members: MemberPlan
  readonly handler: HandlerPlan
  readonly sources: readonly SourcePlan[]
  readonly feeders: readonly FeederPlan[]
  readonly transactionTimeoutMs: number
  readonly chaosMs: number
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

/** Separates the draws of a program from those of the code it runs. */
const programStream = 0x3c6ef372

/** Draws the program of a seed. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed ^ programStream))
  const isCalm = draw.chance(0.15)
  const kind = draw.chance(0.6) ? 'SETTLE' : 'TRANSFORM'
  const brokers = draw.integer(1, 3)
  const topics = drawTopics(draw, kind)
  const members = drawMembers(draw, isCalm)
  const chaosMs = draw.ms(3_000, 6_000)
  const topicNames = topics.flatMap(({ name, companion }) => (companion === undefined ? [name] : [name, companion]))
  return {
    kind,
    isCalm,
    brokers,
    latencyMs: draw.magnitude(1, 20),
    markerDelayMs: draw.msOfMagnitude(1, 100),
    topics,
    maxBatchBytes: draw.pick([400, 1_000, 1_048_576]),
    members,
    handler: drawHandler(draw, isCalm, members),
    sources: drawSources(draw, topicNames, isCalm),
    feeders: drawFeeders(
      draw,
      topics.map(({ name }) => name),
    ),
    transactionTimeoutMs: draw.ms(1_500, 4_000),
    chaosMs,
    faults: isCalm ? false : drawFaults(draw, faultRange),
    outages: isCalm ? [] : drawOutages(draw, { chaosMs, longestMs: 3_000 }, () => drawHits(draw)),
    chaos: drawChaos(draw, isCalm, chaosMs, brokers),
  }
}

function drawTopics(draw: Draw, kind: Program['kind']): TopicPlan[] {
  const hasCompanion = kind === 'SETTLE' && draw.chance(0.2)
  const first = { name: 'a', partitions: draw.integer(1, 4), companion: hasCompanion ? 'a.beside' : undefined }
  return draw.chance(0.3) ? [first, { name: 'b', partitions: draw.integer(1, 2), companion: undefined }] : [first]
}

function drawMembers(draw: Draw, isCalm: boolean): MemberPlan {
  const sessionTimeoutMs = draw.ms(1_000, 1_800)
  const rebalanceTimeoutMs = isCalm ? 5_000 : draw.ms(1_200, 5_000)
  return {
    count: draw.integer(2, 4),
    isStatic: !isCalm && draw.chance(0.25),
    options: {
      sessionTimeoutMs,
      heartbeatIntervalMs: draw.ms(150, sessionTimeoutMs / 3 - 1),
      rebalanceTimeoutMs,
      drainDeadlineMs: isCalm ? 4_000 : draw.ms(200, 4_000),
      requestTimeoutMs: draw.ms(300, 1_500),
      metadataRefreshMs: draw.ms(500, 3_000),
      maxPollIntervalMs: !isCalm && draw.chance(0.15) ? draw.ms(300, 1_000) : 600_000,
      assignment: draw.chance(0.7) ? 'COOPERATIVE' : 'EAGER',
      startFrom: draw.chance(0.85) ? 'EARLIEST' : 'ERROR',
      prefetchRecords: draw.pick([5, 30, 5_000]),
      maxWaitMs: draw.ms(100, 500),
      partitionMaxBytes: draw.pick([1, 300, 1_048_576]),
    },
    pollRecords: draw.pick([1, 5, 50]),
    pollMs: draw.ms(20, 250),
    commitEveryMs: draw.ms(20, 300),
    idleRate: isCalm ? 0 : draw.pick([0, 0.02]),
    idleMs: draw.ms(500, 1_500),
    pauseRate: draw.pick([0, 0.05, 0.2]),
    lateCommitRate: isCalm ? 0 : draw.pick([0, 0.2]),
    sloppyDrainRate: isCalm ? 0 : draw.pick([0, 0.3]),
  }
}

function drawHandler(draw: Draw, isCalm: boolean, { options }: MemberPlan): HandlerPlan {
  return {
    maxMs: draw.pick([5, 60, 300]),
    stuckRate: draw.pick([0, 0, 0.03]),
    // A drain that outlives the session must have no effect as long as heartbeats continue.
    stuckMs: isCalm ? Math.round(draw.between(1, 1.6) * options.sessionTimeoutMs) : draw.ms(500, 3_000),
    failRate: isCalm ? 0 : draw.pick([0, 0.03, 0.15]),
    maxAhead: draw.pick([2, 10, 100]),
  }
}

function drawSources(draw: Draw, topics: readonly string[], isCalm: boolean): SourcePlan[] {
  const count = draw.integer(1, 2)
  return Array.from({ length: count }, (): SourcePlan => {
    const preset = draw.chance(0.7) ? 'EVENT' : 'DEAD_LETTER'
    const isTight = draw.chance(0.3)
    const requestTimeoutMs = draw.ms(200, 1_200)
    return {
      preset,
      options: {
        requestTimeoutMs,
        deliveryTimeoutMs: isCalm ? 20_000 : requestTimeoutMs + draw.ms(100, 4_000),
        retryBackoffMs: draw.msOfMagnitude(5, 200),
        lingerMs: draw.pick([0, 5, 40]),
        batchBytes: draw.pick([100, 600, 65_536]),
        compression: draw.chance(0.85) ? 'NONE' : 'LZ4',
        maxInFlightRequests: draw.integer(1, 3),
        unknownTopicWaitMs: 3_000,
        ...(draw.chance(0.5) ? {} : { retries: draw.pick([0, 1, false]) }),
        ...(isTight ? { batchBytes: 600, maxRecordBytes: 2_000, maxBufferedBytes: 3_000 } : {}),
      },
      topics,
      records: count === 1 ? draw.integer(60, 90) : draw.integer(35, 50),
      burst: draw.pick([1, 4, 15]),
      hugeRate: draw.pick([0, 0, 0.03]),
    }
  })
}

function drawFeeders(draw: Draw, topics: readonly string[]): FeederPlan[] {
  return Array.from({ length: draw.pick([0, 1, 1, 2]) }, () => ({
    transactions: draw.integer(3, 8),
    records: draw.integer(1, 6),
    abortRate: draw.pick([0.1, 0.5]),
    topics,
  }))
}

const dataApis = ['Metadata', 'FindCoordinator', 'Fetch', 'Produce', 'ListOffsets'] as const
const faultyApis: readonly KafkaApi[] = [...groupApis, ...transactionApis, ...dataApis]
const faultRange = { apis: faultyApis, kindRate: 0.5, apiRate: 0.5, highest: 0.15 }

function drawHits(draw: Draw): Outage['hits'] {
  const which = draw.integer(0, 3)
  const api = draw.pick(faultyApis)
  const rates = { [draw.pick(['error', 'lostResponse', 'deadConnection'] as const)]: draw.between(0.9, 1) }
  return which <= 1 ? { api, rates } : which === 2 ? 'NODE' : 'PROCESS'
}

const harmless: readonly ChaosKind[] = ['REBALANCE', 'STOP_MEMBER', 'MOVE_LEADER', 'GROW', 'WALL_JUMP']
const harmful: readonly ChaosKind[] = [
  'EXPIRE_MEMBER',
  'KILL_MEMBER',
  'FREEZE_MEMBER',
  'REPLACE_MEMBER',
  'KILL_PRODUCER',
  'REPLACE_PRODUCER',
  'MOVE_GROUP_COORDINATOR',
  'MOVE_TRANSACTION_COORDINATOR',
  'KILL_BROKER',
  'DELETE_RECORDS',
  'CUT',
]

function drawChaos(draw: Draw, isCalm: boolean, chaosMs: number, brokers: number): ChaosEvent<ChaosKind>[] {
  const kinds = isCalm ? draw.some(harmless, 0.7) : draw.some([...harmless, ...harmful], 0.35)
  const possible = kinds.filter((kind) => brokers > 1 || (kind !== 'MOVE_LEADER' && !kind.endsWith('COORDINATOR')))
  return drawTimes(draw, possible, { most: 3, chaosMs })
}
