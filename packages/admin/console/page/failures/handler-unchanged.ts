/** Decides whether the code that records died with still runs. Pure. */

import { instantMs } from '../../format/time.ts'

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** A process of the fleet. */
export interface ReplayingInstance {
  /** The ULID of its run. */
  readonly key: string
  readonly alive: boolean
  readonly bindings: readonly { readonly cluster: string; readonly binding: string }[]
}

/** The characters of a ULID that hold its time. */
const timeLength = 10

/**
 * Returns whether no live process of a binding started after the last of its records died: their handler is the same.
 * False where that is not known.
 */
export function isHandlerUnchanged(
  instances: readonly ReplayingInstance[],
  binding: string,
  lastDiedAt: string | null | undefined,
): boolean {
  const diedAt = instantMs(lastDiedAt)
  if (diedAt === undefined) return false
  const ours = instances.filter(({ alive, bindings }) => alive && bindings.some((one) => keyOf(one) === binding))
  return ours.length > 0 && ours.every(({ key }) => startOf(key) < diedAt)
}

/** Returns when a process started, from its ULID; Infinity if it is none. */
function startOf(incarnation: string): number {
  const time = Array.from(incarnation.slice(0, timeLength), (character) => digits.indexOf(character))
  if (time.length < timeLength || time.includes(-1)) return Infinity
  return time.reduce((sum, digit) => sum * digits.length + digit, 0)
}

function keyOf({ cluster, binding }: { readonly cluster: string; readonly binding: string }): string {
  return cluster === 'default' ? binding : `${cluster}:${binding}`
}
