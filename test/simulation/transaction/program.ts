/** What a seed is about: records, who transforms them and what befalls the cluster. Drawn before anything runs. */

import { createSeededRandom } from '@waybill/core'
import type { TransactionOptions } from '@waybill/kafka'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawFaults, drawOutages, drawTimes, groupApis, type Outage } from '../world/fault-plan.ts'

export const sourceTopic = 'orders'
export const outputTopic = 'shipments'
export const tierTopic = `${sourceTopic}.retry-1`
export const deadLetterTopic = `${sourceTopic}.DLT`
export const groupId = 'shipping'
export const tierGroupId = `${groupId}-retry-1`

/**
 * What becomes of a record.
 * - OK: its handler succeeds.
 * - FLAKY: its first call of a delivery fails, after it has sent; the second succeeds.
 * - LATER: every call on the source fails, after it has sent; in the tier it succeeds.
 * - DEAD: it can never succeed.
 * - SKIPPED: the binding's filter does not take it.
 */
export type Fate = 'OK' | 'FLAKY' | 'LATER' | 'DEAD' | 'SKIPPED'

/** A record that is written. Its value names it. */
export interface RecordPlan {
  readonly value: string
  readonly fate: Fate
  readonly outputs: number
  readonly partition: number
  readonly atMs: number
}

export type ChaosKind =
  | 'KILL'
  | 'STOP'
  | 'FREEZE'
  | 'BROKER'
  | 'REBALANCE'
  | 'EXPIRE'
  | 'GROUP_COORDINATOR'
  | 'TRANSACTION_COORDINATOR'
  | 'LEADER'

/** What may happen to a process at a named place, and how often. EXPEL: its group ends its membership, and it goes on. */
export interface PointPlan {
  readonly name: string
  readonly kind: 'KILL' | 'FREEZE' | 'DELAY' | 'EXPEL'
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
  readonly transactional: Required<TransactionOptions>
  readonly handleMs: number
  readonly maxAhead: number
  readonly sessionTimeoutMs: number
  readonly chaosMs: number
  readonly points: readonly PointPlan[]
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

const transactionApis = [
  'InitProducerId',
  'AddPartitionsToTxn',
  'AddOffsetsToTxn',
  'TxnOffsetCommit',
  'EndTxn',
] as const
const apis = [
  ...groupApis,
  ...transactionApis,
  'Produce',
  'Fetch',
  'ListOffsets',
  'Metadata',
  'FindCoordinator',
] as const
const chaosKinds: readonly ChaosKind[] = [
  'KILL',
  'STOP',
  'FREEZE',
  'BROKER',
  'REBALANCE',
  'EXPIRE',
  'GROUP_COORDINATOR',
  'TRANSACTION_COORDINATOR',
  'LEADER',
]
const points = [
  'handler.after',
  'transaction.begun',
  'transaction.sent',
  'transaction.committed',
  'assign.end',
] as const

/** Draws it. A quarter of the seeds are calm. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed))
  const isCalm = draw.chance(0.25)
  const partitions = draw.integer(1, 4)
  const chaosMs = draw.ms(6_000, 30_000)
  const kinds = isCalm ? draw.some(['STOP', 'REBALANCE'] as const, 0.5) : draw.some(chaosKinds, 0.4)
  const drawHits = (): Outage['hits'] => {
    // Most of what can go wrong here goes wrong around the end of a transaction.
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
    records: drawRecords(draw, partitions, chaosMs),
    transactional: {
      maxRecords: draw.pick([1, 3, 20]),
      maxBytes: draw.pick([3_500, 100_000]),
      timeoutMs: draw.ms(1_500, 6_000),
    },
    handleMs: draw.pick([0, 5, 60, 400]),
    maxAhead: draw.pick([20, 1_000]),
    sessionTimeoutMs: draw.ms(1_200, 3_000),
    chaosMs,
    points: isCalm
      ? []
      : draw.some(points, 0.4).map((name): PointPlan => {
          const kind = draw.pick(['KILL', 'FREEZE', 'DELAY', 'EXPEL', 'EXPEL'] as const)
          return { name, kind, rate: draw.magnitude(0.005, name === 'assign.end' ? 0.2 : 0.05) }
        }),
    faults: isCalm ? false : drawFaults(draw, { apis, kindRate: 0.4, apiRate: 0.4, highest: 0.1 }),
    outages: isCalm
      ? []
      : [...drawOutages(draw, { chaosMs, longestMs: 8_000 }, drawHits), ...drawSilence(draw, chaosMs)],
    chaos: kinds.length === 0 ? [] : drawTimes(draw, kinds, { most: 4, chaosMs }),
  }
}

/** Longer than a producer asks: whether its transaction is committed is not known then. */
function drawSilence(draw: Draw, chaosMs: number): Outage[] {
  if (draw.chance(0.5)) return []
  const kind = draw.pick(['deadConnection', 'lostResponse', 'delay'] as const)
  const hits = { api: 'EndTxn', rates: { [kind]: 1 } } as const
  return [{ fromMs: draw.ms(0, chaosMs / 2), forMs: draw.ms(1_500, 5_000), hits, isStall: false }]
}

function drawRecords(draw: Draw, partitions: number, chaosMs: number): RecordPlan[] {
  const isBursty = draw.chance(0.5)
  return Array.from(
    { length: draw.integer(60, 160) },
    (_, at): RecordPlan => ({
      value: `r${at}`,
      fate: draw.pick<Fate>(['OK', 'OK', 'OK', 'OK', 'OK', 'FLAKY', 'LATER', 'DEAD', 'SKIPPED']),
      outputs: draw.pick([0, 1, 1, 1, 3]),
      partition: draw.integer(0, partitions - 1),
      atMs: isBursty ? draw.pick([0, 2_000, chaosMs]) : draw.ms(0, chaosMs),
    }),
  ).toSorted((one, other) => one.atMs - other.atMs)
}
