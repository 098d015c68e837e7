import type { Backpressure } from '@waybill/core'
import { WritesRejectedError } from '../application/application-errors.ts'
import type { WriteGate } from '../application/port/write-gate.ts'
import type { RegionFailover } from '../region/region-failover.ts'

/** Creates the gate of all writes: the region is active, and the service is not overloaded. */
export function createWriteGate(
  failover: Pick<RegionFailover, 'allowsWrites'>,
  pressure: Pick<Backpressure, 'shouldRejectWrites'>,
): WriteGate {
  return {
    assertWriteAllowed() {
      if (!failover.allowsWrites()) throw new WritesRejectedError('this region is passive', 5_000)
      if (pressure.shouldRejectWrites) throw new WritesRejectedError('the service is overloaded', 5_000)
    },
  }
}
