import { type RetryControl, type RetryResult, retry } from '../retry/retry.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { CircuitOpenError } from './circuit-open-error.ts'

/**
 * {@link retry} behind a circuit breaker: the breaker sees one outcome a call, however many attempts it took, and
 * neither the waits between them nor failures that no retry can fix.
 *
 * An open breaker refuses before the first attempt and stops retries that are under way; both end as REFUSED with a
 * {@link CircuitOpenError}.
 */
export async function retryThroughBreaker<T>(
  breaker: CircuitBreaker,
  runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>,
  policy: RetryPolicy,
  run: (attempt: number) => T | PromiseLike<T>,
  control: RetryControl = {},
): Promise<RetryResult<T>> {
  using permit = breaker.tryAcquire()
  const result = await retry(runtime, policy, run, {
    ...control,
    beforeAttempt: (attempt) =>
      permit?.isValid ? control.beforeAttempt?.(attempt) : new CircuitOpenError(breaker.name, breaker.state),
  })
  switch (result.outcome) {
    case 'SUCCEEDED':
      permit?.succeed(result.handlerMs)
      break
    case 'EXHAUSTED':
    case 'BUDGET_EXCEEDED':
      permit?.fail(result.handlerMs)
      break
    case 'NOT_RETRYABLE': // The record is at fault, not what the handler depends on.
    case 'REFUSED':
    case 'CANCELLED':
      break // Leaving the block returns the permit.
  }
  return result
}
