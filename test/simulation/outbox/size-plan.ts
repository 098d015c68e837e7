/** The sizes of events and the bound of their bytes in memory, drawn so that some bounds are reached and others never. */

import type { Draw } from '../draw.ts'
import type { TransactionPlan } from './event-plan.ts'

export interface SizePlan {
  readonly maxBufferedBytes: number
  /** Characters added to the payload of an event, by its id. Absent: none. */
  readonly padding: ReadonlyMap<string, number>
}

/** The smallest bound that the options accept. */
const leastBound = 65_536

export function drawSizes(draw: Draw, transactions: readonly TransactionPlan[]): SizePlan {
  // Up to a read, up to a key's part of memory, or a few events larger than the whole bound.
  const most = draw.pick([0, 0, 1_000, 9_000, 30_000, 80_000])
  const share = draw.pick([0.1, 0.5, 1])
  const padding = new Map<string, number>()
  if (most > 0)
    for (const { events } of transactions)
      for (const { id } of events) if (draw.chance(share)) padding.set(id, draw.integer(1, most))
  return { maxBufferedBytes: draw.pick([leastBound, leastBound, 4 * leastBound, 64 * 1_048_576]), padding }
}

/** Returns the size of the largest event: its padding, key and headers. */
export function largestEvent({ padding }: SizePlan): number {
  return Math.max(0, ...padding.values()) + 200
}
