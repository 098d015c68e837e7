/** What is legal in a binding, and most likely not meant. Pure: the caller logs it. */

import { planRetryBudget, tier0RetryPolicy } from '@waybill/core'
import type { Report } from '@waybill/core/option'
import type { BindingValues } from './binding-rules.ts'

/** Below these a setting is for tests (S0-198, C-83). */
export const sensibleFloors: Readonly<
  Record<'maxPollIntervalMs' | 'sessionTimeoutMs' | 'heartbeatIntervalMs', number>
> = Object.freeze({ maxPollIntervalMs: 5_000, sessionTimeoutMs: 10_000, heartbeatIntervalMs: 1_000 })

/** Reports what deserves a look. `given` is what the user wrote, without defaults. */
export function findDoubts(binding: BindingValues, given: Readonly<Record<string, unknown>>, report: Report): void {
  for (const option of ['maxPollIntervalMs', 'sessionTimeoutMs', 'heartbeatIntervalMs'] as const) {
    const floor = sensibleFloors[option]
    if (binding[option] < floor) report(option, `is ${binding[option]}, and below ${floor} only tests are at ease`)
  }
  doubtHandlerTime(binding, report)
  doubtBreaker(binding, given, report)
  doubtEffect(binding, given, report)
}

function doubtHandlerTime(binding: BindingValues, report: Report): void {
  if (binding.failureProfile === 'BLOCKING_UNLIMITED') return
  const { warning } = planRetryBudget({ ...binding, policy: tier0RetryPolicy(binding.retry.tier0) })
  if (warning !== undefined) report('expectedHandlerMs', warning)
}

function doubtBreaker(
  { circuitBreaker }: BindingValues,
  given: Readonly<Record<string, unknown>>,
  report: Report,
): void {
  const own = given['circuitBreaker']
  const isDescribed = typeof own === 'object' && own !== null && Object.keys(own).length > 0
  if (!circuitBreaker.enabled && isDescribed && !('enabled' in own))
    report('circuitBreaker', 'is described and stays off: set circuitBreaker.enabled')
}

/** What somebody wrote down and nothing reads. */
function doubtEffect(binding: BindingValues, given: Readonly<Record<string, unknown>>, report: Report): void {
  const { orderingMode, failureProfile, retry, dlt } = binding
  if (orderingMode !== 'KEY') {
    for (const option of ['maxWaitingRecords', 'maxWaitingBytes'])
      if (given[option] !== undefined) report(option, 'has no effect without orderingMode KEY')
  }
  const [retryGiven, deadLetterGiven] = [given['retry'], given['dlt']]
  if (failureProfile !== 'BLOCKING_UNLIMITED' && isObject(retryGiven) && retryGiven['blocking'] !== undefined)
    report('retry.blocking', 'has no effect without failureProfile BLOCKING_UNLIMITED')
  if (dlt.topic !== undefined && isObject(deadLetterGiven) && deadLetterGiven['topicSuffix'] !== undefined)
    report('dlt.topicSuffix', 'has no effect beside dlt.topic')
  if (orderingMode !== 'KEY') return
  for (const [at, { topicSuffix, concurrency }] of (retry.tiers ?? []).entries()) {
    const path = `retry.tiers[${at}]`
    if (topicSuffix !== undefined) report(`${path}.topicSuffix`, 'has no effect with orderingMode KEY')
    if (concurrency !== 1) report(`${path}.concurrency`, 'has no effect with orderingMode KEY')
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
