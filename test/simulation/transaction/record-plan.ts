/** The records of a seed: what their handlers do, and what has to become of each. */

import type { Draw } from '../draw.ts'

/**
 * What becomes of a record.
 * - OK: its handler succeeds.
 * - FLAKY: its first call of a delivery fails, after it has sent; the second succeeds.
 * - LATER: every call on the source fails, after it has sent; in the tier it succeeds.
 * - DEAD: it can never succeed.
 * - SKIPPED: the binding's filter does not take it.
 * - REFUSED: its handler succeeds, and nobody takes what it sends: neither on the source nor in the tier. What is too large
 *   never passes, so that record is dead at once; a topic may be made while the others wait in the tier.
 */
export type Fate = 'OK' | 'FLAKY' | 'LATER' | 'DEAD' | 'SKIPPED' | 'REFUSED'

/** A record that is written. Its value names it. */
export interface RecordPlan {
  readonly value: string
  readonly fate: Fate
  readonly outputs: number
  readonly partition: number
  readonly atMs: number
  /** How its calls fail, where they do. After its time is over a call goes on, and sends. */
  readonly fails: 'THROWS' | 'TIMES_OUT'
  /** What it is refused for, where it is. */
  readonly refusal: 'TOO_LARGE' | 'NO_TOPIC' | 'NO_PARTITION'
  /** Its handler has forgotten to await something: it sends when it has returned. */
  readonly isCareless: boolean
}

/** What commits count. */
export const outcomes = ['ok', 'retried', 'dead', 'skipped'] as const

export type Outcome = (typeof outcomes)[number]

const outcomesOnSource: Readonly<Record<Exclude<Fate, 'REFUSED'>, Outcome>> = {
  OK: 'ok',
  FLAKY: 'ok',
  LATER: 'retried',
  DEAD: 'dead',
  SKIPPED: 'skipped',
}

/** What a delivery of the record ends with, on the source or in its tier. */
export function outcomeOf({ fate, refusal }: RecordPlan, tier: number): Outcome {
  if (fate === 'REFUSED') return tier > 0 || refusal === 'TOO_LARGE' ? 'dead' : 'retried'
  return tier === 0 ? outcomesOnSource[fate] : 'ok'
}

/** What a handler sends for a record that succeeds. */
export function outputsOf({ value, outputs }: RecordPlan): string[] {
  return Array.from({ length: outputs }, (_, at) => `${value}/${at}`)
}

/** What it sends and nobody may ever see. */
export function unseenOutputOf({ value }: RecordPlan, why: 'failed' | 'late' | 'refused'): string {
  return `${value}/${why}`
}

/** What records are drawn from. */
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
