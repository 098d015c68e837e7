import { randomUUID } from 'node:crypto'

const prefix = 'waybill_test_'

/** Longer than any run takes. */
const staleAfterMs = 60 * 60 * 1000

/**
 * A name nobody else has, legal as a schema, a database, and the beginning of a topic or key. It says when it was
 * made, so that what a killed run left can be told from what a running one uses.
 */
export function createPlaceName(now: number): string {
  return `${prefix}${now.toString(36)}_${randomUUID().slice(0, 8)}`
}

/** When the place was made whose name this is or begins with; undefined when it is none of ours. */
export function placeCreatedAt(name: string): number | undefined {
  const digits = /^waybill_test_([0-9a-z]{8,9})_[0-9a-f]{8}(?![0-9a-f])/.exec(name)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 36)
}

/** True when a run that still goes on cannot have made it. */
export function isStalePlace(name: string, now: number): boolean {
  const createdAt = placeCreatedAt(name)
  return createdAt !== undefined && now - createdAt > staleAfterMs
}
