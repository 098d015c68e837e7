/** How a binding of a seed detects duplicates, and the faults of the store or inbox it uses. */

import type { DeduplicationKey } from '@waybill/connector/internal'
import type { Draw } from '../draw.ts'
import type { LogRecord } from './topic-log.ts'

/**
 * The deduplication key of records.
 * - DEFAULT: the id of an event; otherwise place, replay, cluster and time.
 * - NATURAL: a user's function that returns the natural key.
 * - PAIR: a user's function. Two records share a key, and handling one of them is enough.
 */
export type MarkKeyKind = 'DEFAULT' | 'NATURAL' | 'PAIR'

/** The drawn plan. */
export interface DeduplicationPlan {
  readonly kind: 'STORE' | 'INBOX'
  readonly key: MarkKeyKind
  /** Handlers receive events of a catalog, which have ids. */
  readonly hasEvents: boolean
  /** The inbox is passed to `handleEvents` instead of the binding. */
  readonly isOfHandler: boolean
  /** Longest latency of a request, and of its response. */
  readonly latencyMs: number
  /** Probability that a request is not executed, or executed without a response, or slow. */
  readonly failRate: number
  readonly lostRate: number
  readonly slowRate: number
  /** Period in which it is down and every request fails. */
  readonly down: { readonly fromMs: number; readonly forMs: number } | undefined
}

/** Inputs for drawing it. */
export interface DeduplicationFrame {
  readonly isCalm: boolean
  readonly chaosMs: number
  readonly areEvents: boolean
  /** True for a recreated source, in which places belong to other records. */
  readonly isRecreated: boolean
  /** True when one lasting fault is the only subject of the seed. */
  readonly isObstructed: boolean
}

/**
 * Makes some bindings deduplicate.
 *
 * @param draw - a separate stream, so that no other draw changes
 */
export function drawDeduplication(
  draw: Draw,
  { handlesBatches }: { readonly handlesBatches: boolean },
  frame: DeduplicationFrame,
): DeduplicationPlan | undefined {
  const { isCalm, chaosMs, areEvents, isRecreated, isObstructed } = frame
  // Batch handlers are rare, and have a path of their own.
  const rate = handlesBatches ? 0.7 : 0.3
  const [isChosen, isInbox, isOfHandler] = [draw.chance(rate), draw.chance(0.5), draw.chance(0.5)]
  const key = draw.pick(['DEFAULT', 'DEFAULT', isRecreated ? 'DEFAULT' : 'NATURAL', 'PAIR'] as const)
  const latencyMs = draw.magnitude(1, isCalm ? 8 : 40)
  const [failRate, lostRate, slowRate] = [drawRate(draw), drawRate(draw), drawRate(draw)]
  const down = { fromMs: draw.ms(0, chaosMs), forMs: draw.msOfMagnitude(200, 2_000) }
  const isDown = draw.chance(0.3)
  if (!isChosen || isObstructed) return undefined
  const kind = isInbox && !handlesBatches ? 'INBOX' : 'STORE'
  const calm = { failRate: 0, lostRate: 0, slowRate: 0, down: undefined }
  return {
    kind,
    key,
    hasEvents: areEvents,
    isOfHandler: isOfHandler && areEvents && kind === 'INBOX' && key === 'DEFAULT',
    latencyMs,
    ...(isCalm ? calm : { failRate, lostRate, slowRate, down: isDown ? down : undefined }),
  }
}

function drawRate(draw: Draw): number {
  const rate = draw.magnitude(0.01, 0.3)
  return draw.chance(0.5) ? rate : 0
}

/** Returns the key function that a user writes; undefined for the engine's default. */
export function ownKeyOf({ key }: DeduplicationPlan): DeduplicationKey | undefined {
  if (key === 'NATURAL') return ({ naturalKey }) => naturalKey
  if (key === 'PAIR') return ({ record }) => pairOf(record.headers.text('id') ?? '')
  return undefined
}

/**
 * Returns the documented key of an original. Users store marks of the default form: another form would forget them all.
 */
export function markKeyOf(
  { key, hasEvents }: DeduplicationPlan,
  id: string,
  { topic, partition, offset, timestamp }: Pick<LogRecord, 'topic' | 'partition' | 'offset' | 'timestamp'>,
  replayCount: number,
): string {
  if (key === 'PAIR') return pairOf(id)
  if (key === 'DEFAULT' && hasEvents) return `topic:${topic}/${id}`
  const natural = `${topic}-${partition}-${offset}${replayCount === 0 ? '' : `#${replayCount}`}`
  return key === 'NATURAL' ? natural : `default/${natural}@${timestamp}`
}

function pairOf(id: string): string {
  return `pair-${Math.floor(Number(id.slice(1)) / 2)}`
}
