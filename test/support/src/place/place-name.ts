import { randomUUID } from 'node:crypto'

const prefix = 'waybill_test_'

/** Longer than any run. */
const staleAfterMs = 60 * 60 * 1000

/**
 * Returns a unique name that is legal as a schema, a database, and the prefix of a topic or key. It holds its creation
 * time, so that a sweep can tell the places of killed runs from those in use.
 */
export function createPlaceName(now: number): string {
  return `${prefix}${now.toString(36)}_${randomUUID().slice(0, 8)}`
}

/** Returns when the place was created that a name is, or begins with; undefined if the name is not of a place. */
export function placeCreatedAt(name: string): number | undefined {
  const digits = /^waybill_test_([0-9a-z]{8,9})_[0-9a-f]{8}(?![0-9a-f])/.exec(name)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 36)
}

/** True if no run that is still active can have created it. */
export function isStalePlace(name: string, now: number): boolean {
  const createdAt = placeCreatedAt(name)
  return createdAt !== undefined && now - createdAt > staleAfterMs
}
