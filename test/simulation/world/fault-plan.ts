/** Faults of a cluster, drawn before a seed starts. */

import type { KafkaApi } from '@waybill/kafka/wire'
import type { FaultProfile, FaultRates } from '@waybill/sim'
import type { Draw } from '../draw.ts'

/** A fault or change at a set time. */
export interface ChaosEvent<Kind extends string> {
  readonly kind: Kind
  readonly atMs: number
}

/** A period in which almost every request of one kind, node or process fails. */
export interface Outage {
  readonly fromMs: number
  readonly forMs: number
  readonly hits: { readonly api: KafkaApi; readonly rates: FaultRates } | 'NODE' | 'PROCESS'
  /** Requests are delayed, or their responses lost. */
  readonly isStall: boolean
}

/** The requests of a group's members. */
export const groupApis = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'OffsetCommit', 'OffsetFetch'] as const

/** The requests of transactions. */
export const transactionApis = [
  'InitProducerId',
  'AddPartitionsToTxn',
  'AddOffsetsToTxn',
  'TxnOffsetCommit',
  'EndTxn',
] as const

const faultKinds = ['error', 'lateError', 'lostResponse', 'deadConnection', 'delay'] as const

/** Inputs for drawing faults. */
export interface FaultRange {
  readonly apis: readonly KafkaApi[]
  /** Probability of each kind of fault in the profile, and of each kind of request. */
  readonly kindRate: number
  readonly apiRate: number
  /** Highest probability that a request is hit. */
  readonly highest: number
}

/** Draws a few kinds of fault on a few kinds of request: all at once would always show the same history. */
export function drawFaults(draw: Draw, { apis, kindRate, apiRate, highest }: FaultRange): FaultProfile | false {
  const kinds = draw.some(faultKinds, kindRate)
  const hit = draw.some(apis, apiRate)
  if (kinds.length === 0 || hit.length === 0) return false
  const rates = Object.fromEntries(
    hit.map((api) => [api, Object.fromEntries(kinds.map((kind) => [kind, draw.magnitude(0.003, highest)]))]),
  )
  return { rates, maxDelayMs: draw.msOfMagnitude(50, 2_000) }
}

/** Draws times and kinds of outages; `drawHits` draws their targets. */
export function drawOutages(
  draw: Draw,
  { chaosMs, longestMs }: { readonly chaosMs: number; readonly longestMs: number },
  drawHits: () => Outage['hits'],
): Outage[] {
  return Array.from({ length: draw.pick([0, 1, 1, 2]) }, (): Outage => {
    const hits = drawHits()
    return {
      fromMs: draw.ms(0, chaosMs),
      forMs: draw.msOfMagnitude(200, longestMs),
      hits,
      isStall: draw.chance(0.5),
    }
  })
}

/** Draws a few times for each kind, and returns them in order of time. */
export function drawTimes<Kind extends string>(
  draw: Draw,
  kinds: readonly Kind[],
  { most, chaosMs }: { readonly most: number; readonly chaosMs: number },
): ChaosEvent<Kind>[] {
  return kinds
    .flatMap((kind) => Array.from({ length: draw.integer(1, most) }, () => ({ kind, atMs: draw.ms(200, chaosMs) })))
    .toSorted((one, other) => one.atMs - other.atMs)
}
