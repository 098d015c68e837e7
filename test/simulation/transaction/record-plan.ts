/** The records of a seed: the behavior of their handlers, and their required outcomes. */

import type { Draw } from '../draw.ts'

/**
 * The fate of a record.
 * - OK: its handler succeeds.
 * - FLAKY: its first call of a delivery fails, after it has sent; the second succeeds.
 * - LATER: every call on the source fails, after it has sent; in the tier it succeeds.
 * - DEAD: it can never succeed.
 * - SKIPPED: the binding's filter rejects it.
 * - REFUSED: its handler succeeds, and its outputs are refused, on the source and in the tier. An oversized output
 * never
 * succeeds, so that record is dead at once; a missing topic may be created while the others wait in the tier.
 */
export type Fate = 'OK' | 'FLAKY' | 'LATER' | 'DEAD' | 'SKIPPED' | 'REFUSED'

/** A record to write. Its value is its name. */
export interface RecordPlan {
  readonly value: string
  readonly fate: Fate
  readonly outputs: number
  readonly partition: number
  readonly atMs: number
  /** How its calls fail, where they do. A timed-out call continues, and sends. */
  readonly fails: 'THROWS' | 'TIMES_OUT'
  /** The reason for the refusal, where there is one. */
  readonly refusal: 'TOO_LARGE' | 'NO_TOPIC' | 'NO_PARTITION'
  /** Its handler misses an await: it sends after it has returned. */
  readonly isCareless: boolean
}

/** The outcomes that commits count. */
export const outcomes = ['ok', 'retried', 'dead', 'skipped'] as const

export type Outcome = (typeof outcomes)[number]

const outcomesOnSource: Readonly<Record<Exclude<Fate, 'REFUSED'>, Outcome>> = {
  OK: 'ok',
  FLAKY: 'ok',
  LATER: 'retried',
  DEAD: 'dead',
  SKIPPED: 'skipped',
}

/** Returns the outcome of a delivery, on the source or in its tier. */
export function outcomeOf({ fate, refusal }: RecordPlan, tier: number): Outcome {
  if (fate === 'REFUSED') return tier > 0 || refusal === 'TOO_LARGE' ? 'dead' : 'retried'
  return tier === 0 ? outcomesOnSource[fate] : 'ok'
}

/** Returns the outputs of a record that succeeds. */
export function outputsOf({ value, outputs }: RecordPlan): string[] {
  return Array.from({ length: outputs }, (_, at) => `${value}/${at}`)
}

/** Returns an output that must never be visible. */
export function unseenOutputOf({ value }: RecordPlan, why: 'failed' | 'late' | 'refused'): string {
  return `${value}/${why}`
}

/** Inputs for drawing records. */
export interface RecordRange {
  readonly partitions: number
  readonly chaosMs: number
  readonly hasRefusals: boolean
  readonly hasTimeouts: boolean
}

export function drawRecords(draw: Draw, { partitions, chaosMs, hasRefusals, hasTimeouts }: RecordRange): RecordPlan[] {
  const isBursty = draw.chance(0.5)
  const fates: Fate[] = ['OK', 'OK', 'OK', 'OK', 'OK', 'FLAKY', 'LATER', 'DEAD', 'SKIPPED']
  if (hasRefusals) fates.push('REFUSED')
  return Array.from(
    { length: draw.integer(60, 160) },
    (_, at): RecordPlan => ({
      value: `r${at}`,
      fate: draw.pick(fates),
      outputs: draw.pick([0, 1, 1, 1, 3]),
      partition: draw.integer(0, partitions - 1),
      atMs: isBursty ? draw.pick([0, 2_000, chaosMs]) : draw.ms(0, chaosMs),
      fails: hasTimeouts && draw.chance(0.5) ? 'TIMES_OUT' : 'THROWS',
      refusal: draw.pick(['TOO_LARGE', 'NO_TOPIC', 'NO_PARTITION']),
      isCareless: draw.chance(0.1),
    }),
  ).toSorted((one, other) => one.atMs - other.atMs)
}
