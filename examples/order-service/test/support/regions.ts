import { createMemoryMetrics, noopLogger, type Runtime } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { type DependencyCheck, RegionFailover } from '../../src/region/region-failover.ts'
import type { RegionLease } from '../../src/region/region-lease.ts'
import { defaultThresholds } from '../../src/region/region-state.ts'

/** A lease in memory, by a clock that all share. */
export function leaseBy(runtime: Runtime): RegionLease {
  let holder = { region: '', until: 0 }
  return {
    async hold(region, ttlMs) {
      const now = runtime.clock.monotonic()
      if (holder.region !== region && holder.until > now) return false
      holder = { region, until: now + ttlMs }
      return true
    },
  }
}

/** The differences of a region from an ordinary one. */
export interface Place {
  readonly region?: string
  readonly checks?: Readonly<Record<string, DependencyCheck>>
  readonly lease?: RegionLease
  readonly isEnabled?: boolean
}

/** Returns the failover of a region that differs from an ordinary one by its place. */
export function failoverOn(runtime: Runtime, place: Place = {}): RegionFailover {
  return new RegionFailover({
    region: 'eu-1',
    checks: {},
    isEnabled: true,
    lease: leaseBy(runtime),
    leaseMs: 15_000,
    thresholds: defaultThresholds,
    checkTimeoutMs: 2_000,
    slowCheckMs: 150,
    runtime,
    ...place,
  })
}

/** Returns virtual time whose metrics can be read. */
export function quietRuntime() {
  const metrics = createMemoryMetrics()
  return Object.assign(createVirtualRuntime(1, { logger: noopLogger, metrics }), { metrics })
}

/** Rejects as a check of a dependency that is down. */
export function fail(): Promise<never> {
  return Promise.reject(new Error('down'))
}
