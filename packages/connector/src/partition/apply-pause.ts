import { UnreachableError } from '@waybill/core'
import { backoffMs } from '@waybill/core/internal'
import type { Outcome } from '../delivery/outcome.ts'
import type { Work } from '../delivery/work.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'

/**
 * Pauses a partition for a record that stays where it is. Returns the time of its next attempt by the monotonic clock;
 * undefined if it does not wait for time.
 */
export function applyPause(
  work: Work,
  outcome: Extract<Outcome, { kind: 'PAUSE' }>,
  pauses: PauseSet,
  { binding, runtime, delivery, pauseBinding }: WorkerDeps,
): number | undefined {
  if (outcome.failure !== undefined) work.failed(outcome.failure)
  switch (outcome.cause) {
    case 'CANCELLED':
    case 'REDELIVERED':
      return undefined
    case 'BREAKER':
      // The breaker may let calls through by now, and would not notify again.
      if (delivery.isRefusing) pauses.add('BREAKER')
      return undefined
    case 'EXHAUSTED':
      pauses.add('EXHAUSTED')
      if (outcome.scope === 'BINDING') pauseBinding()
      return undefined
    case 'BLOCKED':
      return runtime.clock.monotonic() + backoffMs(binding.blockingBackoff, ++work.blocked, runtime.random)
    default:
      throw new UnreachableError(outcome)
  }
}
