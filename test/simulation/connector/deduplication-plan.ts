/** How a binding of a seed tells repeats, and what befalls the store or the inbox that it asks. */

import type { DeduplicationKey } from '@waybill/connector/internal'
import type { Draw } from '../draw.ts'
import type { LogRecord } from './topic-log.ts'

/**
 * What records are known by.
 * - DEFAULT: the id of an event; else place, replay, cluster and time.
 * - NATURAL: a function of the user's, which answers the natural key.
 * - PAIR: a function of the user's. Two records have one key, and one of them is enough.
 */
export type MarkKeyKind = 'DEFAULT' | 'NATURAL' | 'PAIR'

/** What is drawn. */
export interface DeduplicationPlan {
  readonly kind: 'STORE' | 'INBOX'
  readonly key: MarkKeyKind
  /** Handlers are given events of a catalog, which have ids. */
  readonly hasEvents: boolean
  /** The inbox is given to `handleEvents`, in place of the binding. */
  readonly isOfHandler: boolean
  /** Longest that a request and its answer take, each. */
  readonly latencyMs: number
  /** How often a request is not carried out, or carried out without an answer, or slow. */
  readonly failRate: number
  readonly lostRate: number
  readonly slowRate: number
  /** While it is down every request fails. */
  readonly down: { readonly fromMs: number; readonly forMs: number } | undefined
}

/** What it is drawn for. */
export interface DeduplicationFrame {
  readonly isCalm: boolean
  readonly chaosMs: number
  readonly areEvents: boolean
  /** Places in a source that was created again are those of other records. */
  readonly isRecreated: boolean
  /** One fault is all that there is to look at. */
  readonly isObstructed: boolean
}

/** Lets some bindings deduplicate. @param draw - of its own, so that nothing else is drawn anew */
export function drawDeduplication(
  draw: Draw,
  { handlesBatches }: { readonly handlesBatches: boolean },
  frame: DeduplicationFrame,
): DeduplicationPlan | undefined {
  const { isCalm, chaosMs, areEvents, isRecreated, isObstructed } = frame
  // Batch handlers are rare, and have a way of their own.
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

/** The key function that a user writes; undefined for the engine's own. */
export function ownKeyOf({ key }: DeduplicationPlan): DeduplicationKey | undefined {
  if (key === 'NATURAL') return ({ naturalKey }) => naturalKey
  if (key === 'PAIR') return ({ record }) => pairOf(record.headers.text('id') ?? '')
  return undefined
}

/**
 * What an original is to be known by, as the documentation has it (C-18). The form of the engine's own key is that of the marks
 * that users keep: another one would forget them all.
 */
export function markKeyOf(
  { key, hasEvents }: DeduplicationPlan,
  id: string,
  { topic, partition, offset, timestamp }: Pick<LogRecord, 'topic' | 'partition' | 'offset' | 'timestamp'>,
  replayCount: number,
): string {
  if (key === 'PAIR') return pairOf(id)
  if (key === 'DEFAULT' && hasEvents) return id
  const natural = `${topic}-${partition}-${offset}${replayCount === 0 ? '' : `#${replayCount}`}`
  return key === 'NATURAL' ? natural : `default/${natural}@${timestamp}`
}

function pairOf(id: string): string {
  return `pair-${Math.floor(Number(id.slice(1)) / 2)}`
}
