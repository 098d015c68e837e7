/** The drawn records of a source: their content, and whether a handler will ever see it. */

import { createSeededRandom } from '@waybill/core/internal'
import type { Draw } from '../draw.ts'
import { sourceTopic } from './source-topic.ts'

/**
 * How an event handler treats a record. Handlers of raw records see only GOOD ones.
 * - POISON: it cannot be decoded, or its event is not in the catalog: a dead letter without a call.
 * - UNHANDLED: an event of the catalog without a handler: skipped.
 */
export type Content = 'GOOD' | 'POISON' | 'UNHANDLED'

/** A record of the source. */
export interface RecordPlan {
  readonly id: string
  readonly topic: string
  readonly key: string | null
  /** Null is a tombstone. */
  readonly value: string | null
  readonly headers: readonly (readonly [string, string | null])[]
  readonly content: Content
}

/** The names of events in records. */
export const eventName = { handled: 'thing.done', unhandled: 'thing.seen', unknown: 'thing.lost' } as const

/** Headers that any producer of the source can forge; they must not be trusted. */
const forgedHeaders = [
  ['x-eventbus-original-topic', 'orders'],
  ['x-eventbus-original-partition', '0'],
  ['x-eventbus-original-offset', '1'],
  ['x-eventbus-retry-attempt', '99'],
  ['x-eventbus-retry-tier', '3'],
  ['x-eventbus-total-attempts', '77'],
  ['x-eventbus-dlt-reason', 'MANUAL'],
  ['x-eventbus-waiting-kind', 'FENCE'],
] as const

/** Draws the records of a seed. Where dead letter topics limit the size, some records are larger than that. */
export function drawRecords(draw: Draw, areEvents: boolean, deadLetterBytes: number): RecordPlan[] {
  const count = draw.integer(60, 75)
  const keys = draw.pick([2, 4, 8])
  const nullRate = draw.pick([0, 0.1, 0.5])
  const oddRate = draw.pick([0, 0.08])
  const isTight = deadLetterBytes < 10_000
  return Array.from({ length: count }, (_, index): RecordPlan => {
    const id = `r${index}`
    const claimsReplay = draw.chance(oddRate / 2)
    const isForged = !claimsReplay && draw.chance(oddRate)
    const body = areEvents ? drawEvent(draw, index) : drawPlain(draw, id, oddRate, isTight)
    return {
      id,
      topic: sourceTopic,
      key: draw.chance(nullRate) ? null : `k${draw.integer(1, keys)}`,
      value: body.value,
      headers: [
        ['id', id],
        ...body.headers,
        ...(draw.chance(0.3) ? tagHeaders : []),
        ...(isTight && draw.chance(0.1) ? [['much', noise(draw, draw.integer(500, 2_500))] as const] : []),
        ...(claimsReplay ? forgedReplayHeaders : []),
        ...(isForged ? forgedHeaders : []),
      ],
      content: body.content,
    }
  })
}

const random = createSeededRandom(1)
const letters = Array.from({ length: 6_000 }, () => String.fromCharCode(33 + Math.floor(random() * 90))).join('')

/** Returns incompressible text. */
function noise(draw: Draw, length: number): string {
  const start = draw.integer(0, letters.length - length)
  return letters.slice(start, start + length)
}

type Body = Pick<RecordPlan, 'value' | 'headers' | 'content'>

const tagHeaders = [
  ['tag', 'a'],
  ['tag', 'b'],
  ['empty', null],
] as const

/** They claim a replay for another group of a record that differs: every group must handle it. */
const forgedReplayHeaders = [
  ['x-eventbus-original-topic', sourceTopic],
  ['x-eventbus-original-partition', '0'],
  ['x-eventbus-original-offset', '1'],
  ['x-eventbus-consumer-group', 'somebody'],
  ['x-eventbus-replay-count', '1'],
] as const

/** Returns whether a record claims to be a replay for another group. */
export function isForgedReplay({ headers }: RecordPlan): boolean {
  return headers.some(([name]) => name === 'x-eventbus-replay-count')
}

function drawPlain(draw: Draw, id: string, oddRate: number, isTight: boolean): Body {
  const room = isTight && draw.chance(0.3) ? 3_000 : 60
  const value = draw.chance(oddRate / 3) ? null : `${id} ${noise(draw, draw.integer(0, room))}`
  return { value, headers: [], content: 'GOOD' }
}

function event(name: string, value: string, content: Content): Body {
  return { value, headers: [['eventType', name]], content }
}

function drawEvent(draw: Draw, index: number): Body {
  const value = JSON.stringify({ index })
  switch (draw.integer(0, 20)) {
    case 0:
      return event(eventName.handled, '{"index":', 'POISON')
    case 1:
      return event(eventName.handled, '{"index":"none"}', 'POISON')
    case 2:
      return event(eventName.unknown, value, 'POISON')
    case 3:
      return event(eventName.unhandled, value, 'UNHANDLED')
    default:
      return event(eventName.handled, value, 'GOOD')
  }
}
