/** The program of a seed, drawn before it starts: dead letters, operations on them, processes that run these, faults. */

import { createSeededRandom } from '@waybill/core/internal'
import type { FaultProfile } from '@waybill/sim'
import { Draw } from '../draw.ts'
import { type ChaosEvent, drawFaults, drawOutages, drawTimes, type Outage } from '../world/fault-plan.ts'

export const sourceTopic = 'orders'
export const deadLetterTopic = `${sourceTopic}.DLT`
export const tierTopic = `${sourceTopic}.retry-1`
export const groupId = 'shipping'
export const leaseMs = 5_000

/** The kind of a dead letter: replayable, of another group, replayed too often, or damaged. */
export type LetterKind = 'OWN' | 'FOREIGN' | 'SPENT' | 'DAMAGED'

/** A dead letter to write. Its value is its name. */
export interface LetterPlan {
  readonly value: string
  readonly kind: LetterKind
  readonly event: 'placed' | 'paid'
  readonly partition: number
  readonly atMs: number
}

/** A wish of an operator. */
export interface WishPlan {
  readonly kind: 'PAUSE' | 'RESUME' | 'CANCEL' | 'RATE'
  readonly atMs: number
}

/** An operation to create. */
export interface OperationPlan {
  readonly atMs: number
  /** Undefined: all events. */
  readonly event: LetterPlan['event'] | undefined
  readonly to: 'ORIGINAL' | 'BINDING' | 'TIER'
  readonly rate: number
  readonly canary: number | undefined
  readonly isPlannedFirst: boolean
  readonly wishes: readonly WishPlan[]
}

export type ChaosKind = 'KILL' | 'FREEZE' | 'STOP' | 'BROKER'

/** One seed's program. */
export interface Program {
  readonly seed: number
  readonly brokers: number
  readonly partitions: number
  readonly letters: readonly LetterPlan[]
  readonly operations: readonly OperationPlan[]
  readonly runners: number
  readonly maxReplays: number
  readonly chaosMs: number
  /** Maximum delay at a failpoint: longer than a lease in some seeds. */
  readonly lingerMs: number
  /** Probability that a process dies at a failpoint. */
  readonly deathRate: number
  /** Of a call of the store. */
  readonly store: { readonly delayMs: number; readonly refused: number; readonly lostAnswers: number }
  readonly faults: FaultProfile | false
  readonly outages: readonly Outage[]
  readonly chaos: readonly ChaosEvent<ChaosKind>[]
}

const apis = ['Produce', 'Fetch', 'ListOffsets', 'Metadata'] as const

/** Draws the program. A third of the seeds are calm: in them no letter may be copied twice. */
export function drawProgram(seed: number): Program {
  const draw = new Draw(createSeededRandom(seed))
  const isQuiet = draw.chance(0.3)
  const partitions = draw.integer(1, 3)
  const chaosMs = draw.ms(10_000, 40_000)
  const letters = Array.from(
    { length: draw.integer(20, 60) },
    (_, at): LetterPlan => ({
      value: `letter-${at}`,
      kind: draw.pick<LetterKind>(['OWN', 'OWN', 'OWN', 'OWN', 'OWN', 'OWN', 'FOREIGN', 'SPENT', 'DAMAGED']),
      event: draw.pick(['placed', 'paid']),
      partition: draw.integer(0, partitions - 1),
      // Most are written before the first operation; some come later.
      atMs: draw.chance(0.7) ? 0 : draw.ms(0, chaosMs),
    }),
  )
  const kinds: readonly ChaosKind[] = isQuiet ? [] : draw.some(['KILL', 'FREEZE', 'STOP', 'BROKER'], 0.5)
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
    operations: Array.from({ length: draw.integer(1, 3) }, () => drawOperation(draw, chaosMs)),
    runners: draw.integer(1, 3),
    maxReplays: draw.integer(1, 3),
    chaosMs,
    lingerMs: isQuiet ? 0 : draw.pick([0, 200, 2 * leaseMs]),
    deathRate: isQuiet ? 0 : draw.pick([0, 0.03, 0.1]),
    store: {
      delayMs: draw.pick([1, 20, isQuiet ? 20 : 2 * leaseMs]),
      refused: isQuiet ? 0 : draw.pick([0, 0.02, 0.1]),
      lostAnswers: isQuiet ? 0 : draw.pick([0, 0.02, 0.1]),
    },
    faults: isQuiet ? false : drawFaults(draw, { apis, kindRate: 0.5, apiRate: 0.4, highest: 0.1 }),
    outages: isQuiet
      ? []
      : [...drawOutages(draw, { chaosMs, longestMs: 20_000 }, drawHits), ...drawSilence(draw, chaosMs)],
    chaos: kinds.length === 0 ? [] : drawTimes(draw, kinds, { most: 3, chaosMs }),
  }
}

function drawOperation(draw: Draw, chaosMs: number): OperationPlan {
  return {
    atMs: draw.chance(0.5) ? 0 : draw.ms(0, chaosMs / 2),
    event: draw.pick(['placed', 'paid', undefined]),
    to: draw.pick(['ORIGINAL', 'BINDING', 'TIER']),
    rate: draw.pick([1, 3, 20, 1_000]),
    canary: draw.chance(0.3) ? draw.integer(1, 5) : undefined,
    isPlannedFirst: draw.chance(0.3),
    wishes: Array.from(
      { length: draw.pick([0, 0, 1, 3]) },
      (): WishPlan => ({ kind: draw.pick(['PAUSE', 'RESUME', 'RATE', 'PAUSE', 'CANCEL']), atMs: draw.ms(0, chaosMs) }),
    ).toSorted((one, other) => one.atMs - other.atMs),
  }
}

/** Draws outages longer than the producer's delivery timeout: its sends are then neither confirmed nor refused. */
function drawSilence(draw: Draw, chaosMs: number): Outage[] {
  if (draw.chance(0.7)) return []
  const hits = { api: 'Produce', rates: { [draw.pick(['deadConnection', 'lostResponse'] as const)]: 1 } } as const
  return [{ fromMs: draw.ms(0, chaosMs / 2), forMs: draw.ms(32_000, 40_000), hits, isStall: false }]
}

/** Returns true when no fault is injected: then nothing may be repeated. */
export function isCalm({ faults, outages, chaos, deathRate, lingerMs, store }: Program): boolean {
  const isStoreCalm = store.refused === 0 && store.lostAnswers === 0 && store.delayMs < leaseMs
  return (
    faults === false && outages.length === 0 && chaos.length === 0 && deathRate === 0 && lingerMs === 0 && isStoreCalm
  )
}
