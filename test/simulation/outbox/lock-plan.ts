/** Locks of rows by transactions that have nothing to do with an outbox: plain data from a stream of its own. */

import { createSeededRandom } from '@waybill/core/internal'
import { Draw } from '../draw.ts'

/** Locks some of the pending rows for a while. */
export interface LockPlan {
  readonly atMs: number
  readonly forMs: number
  /** The probability that a pending row is locked. */
  readonly share: number
}

/** Separates these draws from those of the rest of the program. */
const lockStream = 0x510e527f

/** Draws the locks of a seed: most seeds have none, and calm ones never, because a lock may cost a row its lease. */
export function drawLocks(
  seed: number,
  { isCalm, chaosMs }: { readonly isCalm: boolean; readonly chaosMs: number },
): LockPlan[] {
  const draw = new Draw(createSeededRandom(seed ^ lockStream))
  if (isCalm || !draw.chance(0.25)) return []
  return Array.from({ length: draw.pick([1, 2, 4, 8]) }, () => ({
    atMs: draw.ms(0, chaosMs),
    forMs: draw.msOfMagnitude(50, 12_000),
    share: draw.pick([0.05, 0.3, 1]),
  }))
}
