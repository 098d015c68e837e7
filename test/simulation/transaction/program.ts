/** The program of a seed, drawn before it starts: records, the processes that transform them, and the faults. */

import type { TransactionOptions } from '@waybill/connector/internal'
import { createSeededRandom } from '@waybill/core/internal'
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
import { drawRecords, type RecordPlan } from './record-plan.ts'

export const sourceTopic = 'orders'
export const outputTopic = 'shipments'
export const tierTopic = `${sourceTopic}.retry-1`
export const deadLetterTopic = `${sourceTopic}.DLT`
export const groupId = 'shipping'
export const tierGroupId = `${groupId}-retry-1`
/** Maximum size that the output topic or the client accepts; and the size of an output too large for either. */
export const topicBytes = 10_000
export const tooLargeBytes = 12_000

const chaosKinds = [
  'KILL',
  'STOP',
  'FREEZE',
  'BROKER',
  'REBALANCE',
  'EXPIRE',
  'GROUP_COORDINATOR',
  'TRANSACTION_COORDINATOR',
  'LEADER',
  'PAUSE',
  'SEEK',
  'SKIP',
  'RESET',
  'RETENTION',
] as const
/** Kinds that give no reason to handle a record twice. */
const calmKinds = ['STOP', 'REBALANCE', 'PAUSE'] as const

export type ChaosKind = (typeof chaosKinds)[number]

/**
 * A fault that may hit a process at a failpoint, and how often. EXPEL: its group ends its membership, and it continues.
 */
export interface PointPlan {
  readonly name: string
  readonly kind: 'KILL' | 'FREEZE' | 'DELAY' | 'EXPEL' | 'STOP'
  readonly rate: number
}

/** One seed's program. */
export interface Program {
  readonly seed: number
  readonly isCalm: boolean
  readonly brokers: number
  readonly partitions: number
  readonly processes: number
  readonly records: readonly RecordPlan[]
  readonly transactional: Required<Pick<TransactionOptions, 'maxRecords' | 'maxBytes' | 'timeoutMs'>>
  readonly handleMs: number
  readonly handlerTimeoutMs: number | false
  /**
   * Some records send outputs that are refused. An oversized output is refused by the topic, or earlier by the client.
   */
  readonly hasRefusals: boolean
  readonly tooLargeFor: 'TOPIC' | 'CLIENT'
  readonly maxAhead: number
  readonly sessionTimeoutMs: number
  readonly chaosMs: number
  readonly points: readonly PointPlan[]
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

const apis = [
  ...groupApis,
  ...transactionApis,
  'Produce',
  'Fetch',
  'ListOffsets',
  'Metadata',
  'FindCoordinator',
] as const
const points = [
  'handler.after',
  'transaction.begun',
  'transaction.sent',
  'transaction.committed',
  'assign.end',
] as const

const pointKinds = ['KILL', 'DELAY', 'EXPEL', 'STOP'] as const

/** Draws the program. A quarter of the seeds are calm. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed))
  const isCalm = draw.chance(0.25)
  const partitions = draw.integer(1, 4)
  const chaosMs = draw.ms(6_000, 30_000)
  const handleMs = draw.pick([0, 5, 60, 400])
  const handlerTimeoutMs = draw.chance(0.4) && 3 * handleMs + draw.ms(50, 800)
  // A process frozen beyond the handler timeout makes the call fail by chance.
  const mayFreeze = handlerTimeoutMs === false
  const hasRefusals = draw.chance(0.5)
  const kinds: readonly ChaosKind[] = isCalm
    ? draw.some(calmKinds, 0.5)
    : draw.some(chaosKinds, 0.4).filter((kind) => mayFreeze || kind !== 'FREEZE')
  const drawHits = (): Outage['hits'] => {
    // Most failures here occur around the end of a transaction.
    const api = draw.chance(0.6) ? draw.pick(transactionApis) : draw.pick(apis)
    return draw.chance(0.7)
      ? { api, rates: { [draw.pick(['error', 'lostResponse', 'deadConnection', 'delay'] as const)]: 0.9 } }
      : draw.pick(['NODE', 'PROCESS'])
  }
  return {
    seed,
    isCalm,
    brokers: draw.integer(1, 3),
    partitions,
    processes: draw.integer(2, 4),
    records: drawRecords(draw, { partitions, chaosMs, hasRefusals, hasTimeouts: handlerTimeoutMs !== false }),
    transactional: {
      maxRecords: draw.pick([1, 3, 20]),
      maxBytes: draw.pick([3_500, 100_000]),
      timeoutMs: draw.ms(1_500, 6_000),
    },
    handleMs,
    handlerTimeoutMs,
    hasRefusals,
    tooLargeFor: draw.pick(['TOPIC', 'CLIENT']),
    maxAhead: draw.pick([20, 1_000]),
    sessionTimeoutMs: draw.ms(1_200, 3_000),
    chaosMs,
    points: isCalm
      ? []
      : draw.some(points, 0.4).map((name): PointPlan => {
          const more = name === 'transaction.sent' && mayFreeze ? 'FREEZE' : 'EXPEL'
          const kind = draw.pick([...pointKinds, mayFreeze ? 'FREEZE' : 'DELAY', more] as const)
          return { name, kind, rate: draw.magnitude(0.005, name === 'assign.end' ? 0.2 : 0.05) }
        }),
    faults: isCalm ? false : drawFaults(draw, { apis, kindRate: 0.4, apiRate: 0.4, highest: 0.1 }),
    outages: isCalm
      ? []
      : [...drawOutages(draw, { chaosMs, longestMs: 8_000 }, drawHits), ...drawSilence(draw, chaosMs)],
    chaos: kinds.length === 0 ? [] : drawTimes(draw, kinds, { most: 4, chaosMs }),
  }
}

/** Draws outages longer than the producer retries: the outcome of its transaction is then unknown. */
function drawSilence(draw: Draw, chaosMs: number): Outage[] {
  if (draw.chance(0.5)) return []
  const kind = draw.pick(['deadConnection', 'lostResponse', 'delay'] as const)
  const hits = { api: 'EndTxn', rates: { [kind]: 1 } } as const
  return [{ fromMs: draw.ms(0, chaosMs / 2), forMs: draw.ms(1_500, 5_000), hits, isStall: false }]
}
