import type { Runtime } from '@waybill/core'

/** Versions per millisecond since the epoch. They stay below 2^53 until the year 2248, and no node claims as often. */
const versionsPerMs = 1_024n

/** Returns a generator of versions that rise within a process and across its restarts. Each claim call gets its own. */
export function createLeaseVersions({ clock }: Pick<Runtime, 'clock'>): () => bigint {
  let next = BigInt(clock.now()) * versionsPerMs
  return () => next++
}

/**
 * Returns an owner name unique to this run of the process, so that a lease of an earlier run cannot pass for its own.
 */
export function uniqueOwner(name: string, { random }: Pick<Runtime, 'random'>): string {
  const hex = Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
  return `${name}-${hex}`
}
