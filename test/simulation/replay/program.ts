/** The program of a seed, drawn before it starts: dead letters, the processes that replay them, and the faults. */

import { createSeededRandom } from '@waybill/core/internal'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawFaults, drawOutages, drawTimes, groupApis, type Outage } from '../world/fault-plan.ts'

export const sourceTopic = 'orders'
export const deadLetterTopic = `${sourceTopic}.DLT`
export const tierTopic = `${sourceTopic}.retry-1`
export const groupId = 'shipping'
export const replayGroupId = `${groupId}-dlt-replay`

/** The kind of a dead letter: replayable, of another group, replayed too often, or damaged. */
export type LetterKind = 'OWN' | 'FOREIGN' | 'SPENT' | 'DAMAGED'

/** A dead letter to write. Its value is its name. */
export interface LetterPlan {
  readonly value: string
  readonly kind: LetterKind
  readonly partition: number
  readonly replayCount: number
  readonly atMs: number
}

export type ChaosKind = 'KILL' | 'FREEZE' | 'BROKER' | 'REBALANCE' | 'COORDINATOR'

/** One seed's program. */
export interface Program {
  readonly seed: number
  readonly brokers: number
  readonly partitions: number
  readonly letters: readonly LetterPlan[]
  readonly replayers: number
  /** Operators with admin clients, or the schedules of running bindings. */
  readonly by: 'OPERATORS' | 'SCHEDULES'
  readonly target: 'ORIGINAL' | 'BINDING'
  readonly batchSize: number
  readonly maxReplays: number
  readonly cooldownMs: number
  readonly chaosMs: number
  /** Maximum delay between a replay's write and its commit. */
  readonly lingerMs: number
  /** Probability that a process dies there. */
  readonly deathRate: number
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

const apis = [...groupApis, 'Produce', 'Fetch', 'ListOffsets', 'Metadata', 'FindCoordinator'] as const

/** Draws the program. A third of the seeds are calm: in them no letter may be copied twice. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed))
  const isQuiet = draw.chance(0.3)
  const partitions = draw.integer(1, 4)
  const maxReplays = draw.integer(1, 3)
  const chaosMs = draw.ms(10_000, 50_000)
  const letters = Array.from({ length: draw.integer(60, 120) }, (_, at): LetterPlan => {
    const kind = draw.pick<LetterKind>(['OWN', 'OWN', 'OWN', 'OWN', 'OWN', 'OWN', 'FOREIGN', 'SPENT', 'DAMAGED'])
    return {
      value: `letter-${at}`,
      kind,
      partition: draw.integer(0, partitions - 1),
      replayCount: kind === 'SPENT' ? maxReplays : draw.integer(0, maxReplays - 1),
      // Most are written before the first replay; some come later.
      atMs: draw.chance(0.4) ? 0 : draw.ms(0, chaosMs),
    }
  })
  const kinds: readonly ChaosKind[] = isQuiet
    ? []
    : draw.some(['KILL', 'FREEZE', 'BROKER', 'REBALANCE', 'COORDINATOR'], 0.5)
  const drawHits = (): Outage['hits'] => {
    const api = draw.pick(apis)
    return draw.chance(0.4)
      ? { api, rates: { [draw.pick(['error', 'lostResponse', 'delay'] as const)]: 0.9 } }
      : draw.pick(['NODE', 'PROCESS'])
  }
  return {
    seed,
    brokers: draw.integer(1, 3),
    partitions,
    letters: letters.toSorted((one, other) => one.atMs - other.atMs),
    replayers: draw.integer(2, 4),
    by: draw.pick(['OPERATORS', 'SCHEDULES']),
    target: draw.pick(['ORIGINAL', 'BINDING']),
    batchSize: draw.integer(1, 20),
    maxReplays,
    cooldownMs: draw.pick([0, 1_000, 8_000]),
    chaosMs,
    lingerMs: draw.pick([0, 200, 3_000]),
    deathRate: isQuiet ? 0 : draw.pick([0, 0.02, 0.1]),
    faults: isQuiet ? false : drawFaults(draw, { apis, kindRate: 0.5, apiRate: 0.4, highest: 0.1 }),
    outages: isQuiet
      ? []
      : [...drawOutages(draw, { chaosMs, longestMs: 20_000 }, drawHits), ...drawSilence(draw, chaosMs)],
    chaos: kinds.length === 0 ? [] : drawTimes(draw, kinds, { most: 3, chaosMs }),
  }
}

/** Draws outages longer than the producer's delivery timeout: its sends are then neither confirmed nor refused. */
function drawSilence(draw: Draw, chaosMs: number): Outage[] {
  if (draw.chance(0.7)) return []
  const hits = { api: 'Produce', rates: { [draw.pick(['deadConnection', 'lostResponse'] as const)]: 1 } } as const
  return [{ fromMs: draw.ms(0, chaosMs / 2), forMs: draw.ms(32_000, 40_000), hits, isStall: false }]
}

/** Returns true when no fault is injected: then every duplicate is a violation. */
export function isCalm({ faults, outages, chaos, deathRate }: Program): boolean {
  return faults === false && outages.length === 0 && chaos.length === 0 && deathRate === 0
}

/** Returns the topic that copies are written to. */
export function targetTopic({ target }: Pick<Program, 'target'>): string {
  return target === 'ORIGINAL' ? sourceTopic : tierTopic
}
