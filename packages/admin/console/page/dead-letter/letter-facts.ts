/** Reads the writer of a dead letter from its headers. Pure. */

import type { Schemas } from '../../api/api-types.ts'

type Letter = Schemas['DeadLetterDetail']

/** The writer of a dead letter. */
export type LetterOrigin = 'WAYBILL' | 'SPRING' | 'SMALLRYE' | 'CONNECT' | 'OTHER'

const prefixes: readonly (readonly [prefix: string, origin: LetterOrigin])[] = [
  ['x-eventbus-dlt', 'WAYBILL'],
  ['kafka_dlt-', 'SPRING'],
  ['dead-letter-', 'SMALLRYE'],
  ['__connect.errors.', 'CONNECT'],
]

/** Returns the program that wrote a dead letter, as its headers tell. */
export function originOf({ headers }: Pick<Letter, 'headers'>): LetterOrigin {
  const found = prefixes.find(([prefix]) => headers.some(({ name }) => name.startsWith(prefix)))
  return found?.[1] ?? 'OTHER'
}

/** Returns whether the value was too large to be copied into the dead letter topic. */
export function isParked({ headers }: Pick<Letter, 'headers'>): boolean {
  return headers.some(({ name }) => name === 'x-eventbus-dlt-parked')
}

/** Returns the place where a record came from; undefined if its writer did not record it. */
export function placeOf({ original: { topic, partition, offset } }: Pick<Letter, 'original'>): string | undefined {
  return topic === '' || offset === null ? undefined : `${topic}:${partition}:${offset}`
}

/** Returns the version of a dead letter: a replay or a triage changes it. */
export function versionOf({ replayCount, state }: Pick<Letter, 'replayCount' | 'state'>): string {
  return `"${replayCount}-${state}"`
}

/** A step on the way of a record to the dead letter topic. */
export interface LetterStep {
  readonly kind: 'DIED' | 'TIER' | 'WRITTEN'
  readonly tier: number
  readonly calls: number
  readonly exception: string
  readonly at: string | null
}

/** Returns the way of a record, the newest step first. */
export function stepsOf({ attempts, deadAt, original, exception }: Letter): readonly LetterStep[] {
  const none = { tier: 0, calls: 0, exception: '' }
  return [
    { ...none, kind: 'DIED', exception, at: deadAt },
    ...attempts.toReversed().map((one) => ({
      kind: 'TIER' as const,
      tier: one.tier,
      calls: one.attempts,
      exception: one.exception,
      at: one.exhaustedAt,
    })),
    ...(original.at === null ? [] : [{ ...none, kind: 'WRITTEN' as const, at: original.at }]),
  ]
}
