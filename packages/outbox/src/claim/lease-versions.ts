import type { Runtime } from '@waybill/core'

/** So many versions for each millisecond since the epoch stay below 2^53 until the year 2248, and no node claims as often. */
const versionsPerMs = 1_024n

/** Makes versions that rise within a process and over its restarts: each claim call gets its own. */
export function createLeaseVersions({ clock }: Pick<Runtime, 'clock'>): () => bigint {
  let next = BigInt(clock.now()) * versionsPerMs
  return () => next++
}

/**
 * A name for this process that no other has, also not its own next run: a lease of a former run must not pass for one
 * of this.
 */
export function uniqueOwner(name: string, { random }: Pick<Runtime, 'random'>): string {
  const hex = Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
  return `${name}-${hex}`
}
