import { UnreachableError } from '@waybill/core'
import { backoffMs } from '@waybill/core/internal'
import type { Outcome } from '../delivery/outcome.ts'
import type { Work } from '../delivery/work.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'

/**
 * What it means for a record and its partition that it stays where it is. Answers when the record may be tried again, by the
 * monotonic clock; undefined when that is no matter of time.
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
      // It may let calls through again by now, and would not say so a second time.
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
