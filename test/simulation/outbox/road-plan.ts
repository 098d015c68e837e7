/** Outages of destinations, and events that only look like one: plain data from a stream of its own. */

import { createSeededRandom } from '@waybill/core/internal'
import { Draw } from '../draw.ts'
import type { TransactionPlan } from './event-plan.ts'
import type { Mode } from './mode.ts'

/** A period in which a destination does not accept anything. */
export interface RoadOutage {
  /** `all`: no destination does. */
  readonly destination: string
  readonly fromMs: number
  readonly forMs: number
}

export interface RoadPlan {
  /** Number of destinations besides `all`, which contains them. */
  readonly destinations: number
  readonly outages: readonly RoadOutage[]
  /** Events by the number of first calls that fail as if their destination were unavailable. */
  readonly alike: Readonly<Record<string, number>>
}

/** The options that say how many reads an idle node makes. */
interface ReadPace {
  readonly intervalMs: number
  readonly batchSize: number
}

interface RoadRange {
  readonly mode: Mode
  readonly chaosMs: number
  readonly transactions: readonly TransactionPlan[]
  readonly options: ReadPace
}

/** Separates these draws from those of the rest of the program, so that recorded seeds keep their meaning. */
const roadStream = 0x9b05688c

const hourMs = 3_600_000

/** Draws the roads of a seed: most seeds have no outage. */
export function drawRoads(seed: number, { mode, chaosMs, transactions, options }: RoadRange): RoadPlan {
  const draw = new Draw(createSeededRandom(seed ^ roadStream))
  const destinations = draw.pick([1, 2, 3])
  const count = draw.chance(0.6) ? 0 : draw.pick([1, 1, 2, 3])
  const rate = draw.chance(0.8) ? 0 : 0.05
  return {
    destinations,
    outages: Array.from({ length: count }, () => ({
      destination: draw.chance(0.4) ? 'all' : `d${draw.integer(0, destinations - 1)}`,
      fromMs: draw.ms(0, chaosMs),
      forMs: drawLength(draw, mode, options),
    })),
    alike: Object.fromEntries(
      transactions
        .flatMap(({ events }) => events)
        .filter(() => draw.chance(rate))
        .map(({ id }) => [id, draw.pick([1, 2, 4, 12])]),
    ),
  }
}

/**
 * Few outages last hours, and none where idle nodes read hundreds of times a second: in `keyed` a read covers as many
 * shards as a batch has rows. Each read takes time to simulate.
 */
function drawLength(draw: Draw, mode: Mode, { intervalMs, batchSize }: ReadPace): number {
  const isKeyed = mode === 'keyed' || mode === 'leasing'
  const isHours = draw.chance(isKeyed ? 0.01 : 0.15) && (isKeyed ? batchSize >= 10 : intervalMs >= 250)
  if (isHours) return draw.msOfMagnitude(hourMs, isKeyed ? 2 * hourMs : 6 * hourMs)
  return draw.msOfMagnitude(200, draw.chance(0.8) ? 20_000 : 200_000)
}

/** Returns the destinations of an event, from the widest to the narrowest. */
export function destinationsOf(eventId: string, { destinations }: RoadPlan): readonly [string, string] {
  const number = Number(/\d+$/.exec(eventId)?.[0] ?? 0)
  return ['all', `d${number % destinations}`]
}
