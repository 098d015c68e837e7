import type { CircuitPermit } from '@waybill/core/internal'
import type { StageDeps } from './delivery-deps.ts'
import type { DeliveryScope } from './delivery-scope.ts'
import type { Ready } from './stage-values.ts'
import type { Work } from './work.ts'

/**
 * How the calls of one delivery pass the circuit breaker.
 * - a permit: the circuit is closed, so the first attempt needs none of what retries need.
 * - UNGUARDED: the binding has no breaker, or the breaker gave no permit and counts nothing.
 * - PER_ATTEMPT: the circuit is not closed, or the first attempt was already made. Each attempt asks the breaker.
 * - CANCELLED: the partition is paused or revoked, or the process stops, so no call is made.
 * - NO_CALL: the record needs none.
 */
export type Passage = CircuitPermit | 'UNGUARDED' | 'PER_ATTEMPT' | 'CANCELLED' | 'NO_CALL'

/** Decides whether and how the handler may be called now. Watches the poll interval before the first attempt. */
export function guard(work: Work, ready: Ready, scope: DeliveryScope, deps: StageDeps): Passage {
  if (ready.kind !== 'RUN') return 'NO_CALL'
  if (ready.firstFailure !== undefined) return 'PER_ATTEMPT'
  if (!scope.mayStart()) return 'CANCELLED' // Preparation takes time.
  const { binding, breaker, pollInterval, runtime } = deps
  const isGuarded = binding.circuitBreaker.enabled
  if (isGuarded && breaker.state !== 'CLOSED') return 'PER_ATTEMPT'
  pollInterval.restartIfOver(work.slice, work.startedAt ?? runtime.clock.monotonic())
  return (isGuarded ? breaker.tryAcquire() : undefined) ?? 'UNGUARDED'
}

/** Returns true while the circuit breaker refuses calls. */
export function isRefusing({ binding, breaker }: Pick<StageDeps, 'binding' | 'breaker'>): boolean {
  return binding.circuitBreaker.enabled && breaker.isRefusing
}
